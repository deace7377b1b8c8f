/**
 * Sends many calls of one endpoint in one request, where the runtime offers it: what comes while two requests are
 * on their way forms the next one. Answers come as they are ready, so that a slow call holds up no other.
 */
import { callerGone, invalidResult } from '../../lib/errors.ts';
import { GrowingBytes } from '../../lib/growing-bytes.ts';
import { isJsonText } from '../../lib/json.ts';
import { uptime } from '../../lib/time.ts';
import type { CallSignal, CallTrace } from '../engine.ts';
import { areAlike } from '../supervisor/endpoint.ts';
import { failureIn, failureOf } from './answers.ts';
import { RuntimeUnreachable } from './runtime-connections.ts';

export interface BatchedCall {
  /** JSON text. */
  readonly input: string;
  readonly depth: number;
  /** Milliseconds of `uptime()`. */
  readonly deadline: number;
  readonly trace?: CallTrace | undefined;
  readonly signal?: CallSignal | undefined;
}

/** Sends inputs joined by NUL, unless all callers are gone before their turn; gives the bytes of the answer as they come. */
export type SendCalls = (
  body: string,
  depth: number,
  deadline: number,
  traces: readonly (CallTrace | undefined)[],
  onChunk: (chunk: Buffer) => void,
  isGone: () => boolean,
) => Promise<void>;

interface Waiting extends BatchedCall {
  settled: boolean;
  resolve(result: string): void;
  reject(error: unknown): void;
}

const BATCHES_IN_FLIGHT = 2;
/** Milliseconds after which a request counts as slow and no longer holds up the next. */
const RECENT_MS = 5;
const MOST_CALLS = 64;
const MOST_CHARACTERS = 256 * 1024;
/** Most characters of request ids and traces, which travel as headers. */
const MAX_TRACES_CHARACTERS = 4096;
const NUL = 0;

export class CallBatches {
  readonly #send: SendCalls;
  readonly #queue: Waiting[] = [];
  #recent = 0;
  #due = false;

  constructor(send: SendCalls) {
    this.#send = send;
  }

  /** Gives the result as JSON text. @throws executionFailed, overloaded, and what sending throws. */
  call(call: BatchedCall): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...call, settled: false, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#due || this.#recent >= BATCHES_IN_FLIGHT || this.#queue.length === 0) return;
    this.#due = true;
    setImmediate(() => {
      this.#due = false;
      while (this.#recent < BATCHES_IN_FLIGHT && this.#queue.length > 0) this.#start(this.#take());
    });
  }

  #take(): Waiting[] {
    const batch: Waiting[] = [];
    let characters = 0;
    let traces = 0;
    const now = uptime();
    for (let next = this.#queue[0]; next !== undefined && batch.length < MOST_CALLS; next = this.#queue[0]) {
      if (isAbandoned(next)) {
        this.#queue.shift();
        next.reject(callerGone('The client went away before its call began'));
        continue;
      }
      characters += next.input.length;
      traces += lengthOf(next.trace);
      const first = batch[0] ?? next;
      const apart = !areAlike(next.deadline, first.deadline, now);
      if (
        batch.length > 0 &&
        (next.depth !== first.depth || apart || characters > MOST_CHARACTERS || traces > MAX_TRACES_CHARACTERS)
      )
        break;
      batch.push(next);
      this.#queue.shift();
    }
    return batch;
  }

  #start(calls: readonly Waiting[]): void {
    if (calls.length === 0) return;
    this.#recent++;
    let young = true;
    const age = (): void => {
      if (young) this.#recent--;
      young = false;
      this.#schedule();
    };
    const timer = setTimeout(age, RECENT_MS);
    let body = '';
    let deadline = Infinity;
    for (const call of calls) {
      body += body === '' ? call.input : `\0${call.input}`;
      deadline = Math.min(deadline, call.deadline);
    }
    const reader = new RecordReader((record) => settle(calls, record));
    const traces = calls.map(({ trace }) => trace);
    const isGone = (): boolean => calls.every(isAbandoned);
    this.#send(body, calls[0]?.depth ?? 0, deadline, traces, (chunk) => reader.push(chunk), isGone)
      .then(() => failRest(calls, () => new RuntimeUnreachable('the runtime ended its answer too early')))
      .catch((error: unknown) => failRest(calls, () => error))
      .finally(() => {
        clearTimeout(timer);
        age();
      });
  }
}

const isAbandoned = ({ signal }: BatchedCall): boolean => signal?.aborted === true;

const lengthOf = (trace: CallTrace | undefined): number =>
  trace === undefined ? 2 : trace.requestId.length + (trace.traceparent?.length ?? 0) + 2;

/** Cuts the answer at its NULs. */
class RecordReader {
  readonly #onRecord: (record: string) => void;
  /** The beginning of the record that is still arriving. */
  readonly #begun = new GrowingBytes();

  constructor(onRecord: (record: string) => void) {
    this.#onRecord = onRecord;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(NUL); end >= 0; end = chunk.indexOf(NUL, from)) {
      if (this.#begun.size === 0) this.#onRecord(chunk.toString('utf8', from, end));
      else {
        this.#begun.add(chunk.subarray(from, end));
        this.#onRecord(this.#begun.take().toString());
      }
      from = end + 1;
    }
    if (from < chunk.length) this.#begun.add(chunk.subarray(from));
  }
}

/** `<number>=<result as JSON>`, `<number>!<status>,<description>`, or `<number>!` and what a single call's answer says. */
function settle(calls: readonly Waiting[], record: string): void {
  const [, number = '', mark] = /^(\d{1,4})([=!])/.exec(record) ?? [];
  const call = calls[Number(number)];
  if (call === undefined || call.settled || mark === undefined) return;
  call.settled = true;
  const text = record.slice(number.length + 1);
  if (mark === '=') return isJsonText(text) ? call.resolve(text) : call.reject(invalidResult('the result is not JSON'));
  call.reject(failureOfRecord(text));
}

function failureOfRecord(text: string): Error {
  if (text.startsWith('{')) return failureIn(statusIn(text), text);
  const comma = text.indexOf(',');
  return failureOf(Number(text.slice(0, comma)), text.slice(comma + 1));
}

function statusIn(text: string): number {
  try {
    return Number((JSON.parse(text) as { status?: unknown }).status);
  } catch {
    return 500;
  }
}

/** `errorOf` is asked only where a call is left, since most requests leave none. */
function failRest(calls: readonly Waiting[], errorOf: () => unknown): void {
  for (const call of calls) if (!call.settled) call.reject(errorOf());
}
