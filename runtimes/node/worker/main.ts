/** The process of one knowledge object version: loads its endpoints and answers the calls that the runtime sends. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Socket } from 'node:net';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe } from './describe.ts';
import { Executors } from './executors.ts';
import { answers, encode, frame, FrameReader } from './frames.ts';
import { LoadError, loadFunction, type Endpoint, type KnowledgeFunction } from './load.ts';
import { restrict } from './restrict.ts';
import { dataPipe, Shared } from './shared.ts';

// The code of the knowledge object may replace the globals; it must not break its own transport by that.
const { parse, stringify } = JSON;
const outputLimit = Number(process.argv[2]);
const shared = new Shared();
const endpoints: { readonly endpoint: Endpoint; loaded?: Promise<void>; run?: KnowledgeFunction }[] = [];
const open = new Set<number>();
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
restrict(pipe);
Object.assign(globalThis, { cxt: executors.context() });

process.on('uncaughtException', (error) => {
  const call = current.getStore();
  const description = describe(error);
  console.error(`Uncaught ${description}`);
  if (call !== undefined) answer(call, answers.thrown, description);
  else {
    send(encode('F', 0, 0, description));
    process.exit(1);
  }
});

const reader = new FrameReader(0xffff_ffff, (kind, a, b, body) => {
  if (kind === 'C') call(a, b >> 1, (b & 1) === 1, body);
  else if (kind === 'L') load(a, b);
  else if (kind === 'R') executors.reply(a, b, body);
  else if (kind === 'E') endpoints[a] = { endpoint: parse(body) as Endpoint };
  else if (kind === 'P') send(encode('P', 0, 0, ''));
});
pipe.on('data', (chunk: Buffer) => {
  startTurn();
  reader.push(chunk);
  flush();
});
pipe.on('error', () => undefined);
pipe.on('close', () => process.exit(0));
process.on('exit', flush);

/** Messages of one turn of the event loop are written together, unless the calls of that turn take long. */
function send(message: string): void {
  if (!flushing) {
    startTurn();
    setImmediate(flush);
  }
  if (!shared.put(message)) {
    flush();
    if (!shared.put(message)) pipe.write(frame(message));
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
  open.add(number);
  const endpoint = endpoints[index];
  if (endpoint?.run) current.run(number, execute, endpoint.run, number, json, body);
  else {
    prepare(number, index).then(
      () => endpoint?.run && current.run(number, execute, endpoint.run, number, json, body),
      (error: unknown) => answer(number, answers.failed, messageOf(error)),
    );
  }
}

function load(number: number, index: number): void {
  if (!shared.begin(number)) return;
  open.add(number);
  prepare(number, index).then(
    () => answer(number, answers.result, 'true'),
    (error: unknown) => answer(number, answers.failed, messageOf(error)),
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

function execute(run: KnowledgeFunction, number: number, json: boolean, body: string): void {
  const fail = (error: unknown): void => answer(number, answers.thrown, describe(error));
  try {
    const result = run(json ? parse(body) : body);
    if (isThenable(result))
      Promise.resolve(result)
        .then((value) => finish(number, value))
        .catch(fail);
    else finish(number, result);
  } catch (error) {
    fail(error);
  }
}

const isThenable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/** Functions, symbols and undefined become null; what JSON cannot hold throws. */
function finish(number: number, result: unknown): void {
  const text = (stringify(result) as string | undefined) ?? 'null';
  if (text.length * 3 > outputLimit && Buffer.byteLength(text) > outputLimit) {
    answer(number, answers.failed, `The result is larger than the limit of ${outputLimit / 1_000_000} MB`);
  } else answer(number, answers.result, text);
}

const messageOf = (error: unknown): string => (error instanceof LoadError ? error.message : describe(error));

function answer(number: number, kind: number, body: string): void {
  if (open.delete(number)) send(encode('A', number, kind, body));
}
