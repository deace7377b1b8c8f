/** What the runtime and a worker say to each other: frames of the service's own codec, each with two numbers and a text. */
import { OddFrame } from '../../../src/engines/sandbox/frames.ts';

/** From the runtime to the worker, and back. */
export const kinds = {
  /** An endpoint: a = its index, text = JSON `{file, root, function}`. */
  endpoint: 1,
  /** Load an endpoint: a = number of the call, b = index. Answered like a call. */
  load: 2,
  /** A call: a = its number, b = index * 2 + (1 where the body is JSON), text = the input. */
  call: 3,
  /** The answer to a call: a = its number, b = one of `answers`, text = JSON of the result or of a `Failure`. */
  answer: 4,
  /** A call of another endpoint: a = its number, b = the number of the call that makes it, text = JSON. */
  nested: 5,
  /** Its answer: a = its number, b = HTTP status, text = the activator's answer. */
  reply: 6,
  /** Is the worker's event loop alive? Answered with the same. */
  ping: 7,
  /** From the watchdog: no further call begins, a = number of the last that did. */
  sealed: 8,
  /** The worker ends because of an exception that belongs to no call: text = its description. */
  fatal: 9,
} as const;

export const answers = { result: 0, thrown: 1, failed: 2, invalid: 3 } as const;

const ofWorkers: ReadonlySet<number> = new Set([kinds.answer, kinds.nested, kinds.ping, kinds.sealed, kinds.fatal]);

/** Bytes that the text of a frame of a worker may have. @throws OddFrame for a kind that no worker sends. */
export function maxBytesOf(kind: number, maxBytes: number): number {
  if (!ofWorkers.has(kind)) throw new OddFrame(`a worker sends no frames of kind ${kind}`);
  return maxBytes;
}
