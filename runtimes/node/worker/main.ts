/** The process of one knowledge object version: loads its endpoints and answers the calls that the runtime sends. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Socket } from 'node:net';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { frame, FrameReader } from '../../../src/engines/supervisor/frames.ts';
import { begunFile, copyWithoutModes, hide, loadNative } from './native.ts';
import { describe, failureOf } from './describe.ts';
import { Executors } from './executors.ts';
import { LoadError, loadFunction, type Endpoint, type KnowledgeFunction } from './load.ts';
import { answers, kinds, type Failure } from '../../../src/engines/supervisor/messages.ts';
import { RecordLines } from './record-lines.ts';
import { restrict } from './restrict.ts';
import { dataPipe, Shared } from './shared.ts';
import { OddNumber, writeResult } from './write-result.ts';

// The code of the knowledge object may replace the globals; it must not break its own transport by that.
const { parse, stringify } = JSON;
const outputLimit = Number(process.argv[2]);
/** What the operator would have to set for native addons; empty text where that is done. */
const addonsSetting = process.argv[3] ?? '';
const native = loadNative(process.argv[4]);
if (native) {
  hide(native);
  copyWithoutModes();
}
const shared = new Shared(undefined, begunFile(native));
const endpoints: { readonly endpoint: Endpoint; loaded?: Promise<void>; run?: KnowledgeFunction }[] = [];
/** Calls that run, each with the folder of its knowledge object. */
const open = new Map<number, string>();
const current = new AsyncLocalStorage<number>();
const pipe = new Socket({ fd: dataPipe });
const executors = new Executors(send, current);
let flushing = false;
let turn = 0;

const watchdog = new Worker(new URL(`./watchdog${extname(import.meta.url)}`, import.meta.url), {
  workerData: shared.memory,
  resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
});
await new Promise((resolve) => watchdog.once('online', resolve));
watchdog.unref();
restrict(pipe, addonsSetting);
Object.assign(globalThis, { cxt: executors.context() });

process.on('uncaughtException', (error) => {
  const call = current.getStore();
  const description = describe(error);
  // Its message may quote what a caller sent, and goes to the caller alone.
  console.error(`Uncaught ${/^[A-Za-z]+(?=:|$)/.exec(description)?.[0] ?? 'exception'}`);
  if (call !== undefined) fail(call, error);
  else {
    send(frame(kinds.fatal, 0, 0, description));
    process.exit(1);
  }
});

const reader = new FrameReader((kind, a, b, body) => {
  if (kind === kinds.call) call(a, b >> 1, (b & 1) === 1, body);
  else if (kind === kinds.records) records(a, b >> 1, body);
  else if (kind === kinds.load) load(a, b >> 1);
  else if (kind === kinds.reply) executors.reply(a, b, body);
  else if (kind === kinds.define) endpoints[a] = { endpoint: parse(body) as Endpoint };
  else if (kind === kinds.ping) send(frame(kinds.ping, 0, 0, ''));
});
// Whatever ends this process from now on, it was started.
pipe.write(frame(kinds.ping, 0, 0, ''));
pipe.on('data', (chunk: Buffer) => {
  startTurn();
  reader.push(chunk);
  flush();
});
pipe.on('error', () => undefined);
pipe.on('close', () => process.exit(0));
process.on('exit', flush);

/** Messages of one turn of the event loop are written together, unless the calls of that turn take long. */
function send(message: Buffer): void {
  if (!flushing) {
    startTurn();
    setImmediate(flush);
  }
  if (!shared.put(message)) {
    flush();
    if (!shared.put(message)) pipe.write(message);
  }
  if (performance.now() - turn > 5) flush();
}

function startTurn(): void {
  flushing = true;
  turn = performance.now();
}

function flush(): void {
  flushing = false;
  const messages = shared.take();
  if (messages) pipe.write(messages);
}

function call(number: number, index: number, json: boolean, body: string): void {
  if (!shared.begin(number)) return;
  const endpoint = endpoints[index];
  open.set(number, endpoint?.endpoint.root ?? '');
  const tell = (kind: number, text: string): void => answer(number, kind, text);
  if (endpoint?.run) void current.run(number, execute, endpoint.run, number, json, body, tell);
  else {
    prepare(number, index).then(
      () => endpoint?.run && current.run(number, execute, endpoint.run, number, json, body, tell),
      (error: unknown) => refuse(number, messageOf(error), answers.unloaded),
    );
  }
}

function load(number: number, index: number): void {
  if (!shared.begin(number)) return;
  open.set(number, '');
  prepare(number, index).then(
    () => answer(number, answers.result, 'true'),
    (error: unknown) => refuse(number, messageOf(error), answers.unloaded),
  );
}

async function prepare(number: number, index: number): Promise<void> {
  const endpoint = endpoints[index];
  if (!endpoint) throw new Error('unknown endpoint');
  endpoint.loaded ??= current.run(number, async () => {
    endpoint.run = await loadFunction(endpoint.endpoint);
  });
  return endpoint.loaded;
}

/** Takes what came of one input: one of `answers`, and its text. */
type Answer = (kind: number, text: string) => void;

/** Gives a promise where it goes on. */
function execute(
  run: KnowledgeFunction,
  number: number,
  json: boolean,
  body: string,
  tell: Answer,
): Promise<void> | undefined {
  let input: unknown = body;
  try {
    if (json) input = parse(body);
  } catch (error) {
    tell(answers.unreadable, stringify({ description: describe(error) } satisfies Failure));
    return undefined;
  }
  try {
    const result = run(input);
    if (isThenable(result))
      return Promise.resolve(result)
        .then((value) => finish(number, value, tell))
        .catch((error: unknown) => tell(...failed(number, error)));
    finish(number, result, tell);
  } catch (error) {
    tell(...failed(number, error));
  }
  return undefined;
}

function records(number: number, index: number, text: string): void {
  if (!shared.begin(number)) return;
  const endpoint = endpoints[index];
  open.set(number, endpoint?.endpoint.root ?? '');
  prepare(number, index)
    .then(async () => {
      if (!endpoint?.run) return;
      const { run } = endpoint;
      const lines = new RecordLines((lines, areLast) => {
        if (open.has(number)) send(frame(kinds.lines, number, areLast ? 1 : 0, lines));
        if (areLast) open.delete(number);
      });
      await current.run(number, () =>
        lines.run(text.split('\n'), (record, tell) => execute(run, number, true, record, tell)),
      );
    })
    .catch((error: unknown) => refuse(number, messageOf(error), answers.unloaded));
}

const isThenable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

function finish(number: number, result: unknown, tell: Answer): void {
  let text: string;
  try {
    text = writeResult(result);
  } catch (error) {
    return tell(answers.unwritable, failed(number, error)[1]);
  }
  if (text.length * 3 > outputLimit && Buffer.byteLength(text) > outputLimit) {
    const description = `The result is larger than the limit of ${outputLimit / 1_000_000} MB`;
    tell(answers.unwritable, stringify({ description } satisfies Failure));
  } else tell(answers.result, text);
}

const messageOf = (error: unknown): string => (error instanceof LoadError ? error.message : describe(error));

/** Answers with what the code threw. */
const fail = (number: number, error: unknown): void => answer(number, ...failed(number, error));

function failed(number: number, error: unknown): [number, string] {
  const failure: Failure =
    error instanceof OddNumber
      ? { description: error.message }
      : failureOf(error, open.get(number) ?? '', executors.isNested(error));
  return [failure.status === undefined ? answers.thrown : answers.invalid, stringify(failure)];
}

function refuse(number: number, description: string, kind: number = answers.failed): void {
  answer(number, kind, stringify({ description } satisfies Failure));
}

function answer(number: number, kind: number, body: string): void {
  if (open.delete(number)) send(frame(kinds.answer, number, kind, body));
}
