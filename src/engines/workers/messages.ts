/**
 * What the supervisor and a worker say to each other: frames of the service's own codec, each with two numbers and a
 * text. A worker finds two sockets: file descriptor 3 for calls and all that it says, and 4, by which it is sealed, and by
 * which one whose calls keep it from reading takes replies and pings too.
 */
import type { CodePlace } from '../../lib/code-place.ts';
import { OddFrame, RESULT_LINES } from '../supervisor/frames.ts';

/** From the supervisor to the worker, and back. */
export const kinds = {
  /** An endpoint: a = its index, text = JSON `{file, root, function, …}`. */
  endpoint: 1,
  /** Load an endpoint: a = number of the call, b = index. Answered like a call. */
  load: 2,
  /** A call: a = its number, b = index * 2 + (1 where the body is JSON), text = the input. */
  call: 3,
  /** The answer to a call: a = its number, b = one of `answers`, text = JSON of the result or of a `Failure`. */
  answer: 4,
  /** A question: a = its number, b = the number of the call that has it, text = JSON of `Question`. */
  nested: 5,
  /** Its answer: a = its number, b = HTTP status, text = JSON `{result}` or `{description}`. */
  reply: 6,
  /** Is the worker's event loop alive? Answered with the same, which also says once that the worker is ready. */
  ping: 7,
  /** Begin no further call; from the worker: none begins any more, a = number of the last that did. */
  sealed: 8,
  /** The worker ends because of an exception that belongs to no call: text = its description. */
  fatal: 9,
  /** Calls that share a number, each with a record: a = their number, b = index of the endpoint, text = JSON texts joined by line feeds. */
  records: 10,
  /**
   * What came of the next of those: a = their number, b = 1 where it is the last of them, text = a line for each: `{"result":…}`,
   * or `!`, one digit of `answers`, and JSON of a `Failure`.
   */
  lines: RESULT_LINES,
} as const;

/**
 * `unreadable`: the input is not JSON; `unloaded`: the code could not be loaded; `unwritable`: JSON cannot hold the
 * result, or it is too large; `memory`: the code needs more memory than it may have.
 */
export const answers = {
  ...{ result: 0, thrown: 1, failed: 2, invalid: 3, unreadable: 4, unloaded: 5, unwritable: 6, memory: 7 },
} as const;

/** Why a call or a load has no result. */
export interface Failure {
  readonly description: string;
  /** Only where the code says that its input is at fault. */
  readonly status?: 400 | 422;
  readonly place?: CodePlace;
  /** The worker should get no more calls: what took its memory may be there for good. */
  readonly retire?: boolean;
}

/** What code asks while it answers a call: `metadata` is what the service says of an endpoint. */
export interface Question {
  readonly what?: 'call' | 'metadata';
  readonly uri: string;
  /** Of a call. */
  readonly contentType?: string;
  readonly body?: string;
}

const ofWorkers: ReadonlySet<number> = new Set([
  kinds.answer,
  kinds.nested,
  kinds.ping,
  kinds.sealed,
  kinds.fatal,
  kinds.lines,
]);

/** Bytes that the text of a frame of a worker may have. @throws OddFrame for a kind that no worker sends. */
export function maxBytesOf(kind: number, maxBytes: number): number {
  if (!ofWorkers.has(kind)) throw new OddFrame(`a worker sends no frames of kind ${kind}`);
  return maxBytes;
}
