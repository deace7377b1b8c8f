/**
 * All that the service and a program that runs code for it say to each other, whatever the program: frames of the
 * service's own codec, each with two numbers and a text. What is called `number` is that of a piece of work, and `index`
 * that of an endpoint; an answer names the work. A program may use the messages that fit it: an isolate runs batches of
 * calls one after the other, a worker several calls beside each other.
 *
 * A worker finds two sockets: file descriptor 3 for calls and all that it says, and 4, by which it is sealed, and by which
 * one whose calls keep it from reading takes replies and pings too.
 */
import type { CodePlace } from '../../lib/code-place.ts';
import { RESULT_LINES } from './frames.ts';

export const kinds = {
  // ----- to the program -----

  /** An endpoint: a = index, b = number of the work for which it says that it begins, or 0, text = its code. */
  define: 1,
  /** Load an endpoint: a = number, b = index * 2 + `says`, text = its code where it is not defined. Answered like a call. */
  load: 2,
  /** The same, and nothing of it is kept. */
  check: 11,
  /** A call: a = number, b = index * 2 + (1 where the input is JSON), text = the input. */
  call: 3,
  /** Calls that run one after the other: a = number, b = index * 2 + `says`, text = `<depth>,<milliseconds>,<guard>`, newline, JSON inputs joined by NUL. Answered by `results`. */
  batch: 12,
  /** Records: the same, but for an isolate joined by line feeds; for a worker without the first line. Answered by `lines`. */
  records: 10,
  /** The answer to a question: a = its number; to a worker b = HTTP status and text = JSON `{result}` or `{description}`. */
  reply: 6,
  /** Is the event loop alive? Answered with the same, which a program also says once it is there, before any code of others, and an isolate for each endpoint that it has defined. */
  ping: 7,
  /** Begin no further call. From the worker: none begins any more, a = number of the last that did. */
  drain: 8,
  /** Forget an endpoint: a = index. */
  drop: 13,

  // ----- from the program -----

  /** a = number, b = one of `answers`, text = JSON of the result or of a `Failure`. */
  answer: 4,
  /** a = number, b = microseconds, text = a line for each call: JSON of the result, or `!`, one digit of `answers`, and JSON of a `Failure`. */
  results: 16,
  /**
   * What came of the next records: a = number, b = 0 where more follow; from isolates the microseconds. Text: a line for each,
   * `{"result":…}`, or as of `results` where there is none.
   */
  lines: RESULT_LINES,
  /** A question: a = its number, b = number of the work that has it, text = JSON of a `Question`, newline, body. */
  ask: 5,
  /** The work begins that was to say so: a = number. */
  begun: 14,
  /** a = index, text = level, newline, line. */
  log: 15,
  /** The worker ends because of an exception that belongs to no call: text = its description. */
  fatal: 9,
} as const;

/**
 * `unreadable`: the input is not JSON; `unloaded`: the code could not be loaded; `unwritable`: JSON cannot hold the
 * result, or it is too large; `memory`, `timeout`: the code needs more than it may have.
 */
export const answers = {
  ...{ result: 0, thrown: 1, failed: 2, invalid: 3, unreadable: 4, unloaded: 5, unwritable: 6, memory: 7, timeout: 8 },
} as const;

/** Why a call or a load has no result. */
export interface Failure {
  readonly description: string;
  /** Only where the code says that its input is at fault. */
  readonly status?: 400 | 422;
  readonly place?: CodePlace;
  /** The frames of what was thrown, in V8's words. */
  readonly stack?: string;
  /** The worker should get no more calls: what took its memory may be there for good. */
  readonly retire?: boolean;
}

/** What code asks while it runs. */
export interface Question {
  /** `find`: where an endpoint is; `metadata`: what the service says of one. */
  readonly what: 'find' | 'call' | 'metadata';
  readonly id: string;
  /** Of the body of a call; empty where nothing is said. */
  readonly contentType: string;
  /** From a sandbox, in which calls may make others: how deep the one is that it asks for, … */
  readonly depth: number;
  /** … and the milliseconds that are left for it. */
  readonly left: number;
}

/** What stands for a failure where a result would be; see `results`. */
export const failureLine = (description: string): string =>
  `!${answers.thrown}${JSON.stringify({ description } satisfies Failure)}`;

/** Characters; a program cuts what is longer. */
export const MAX_MESSAGE_CHARACTERS = 4000;
export const MAX_STACK_CHARACTERS = 2000;
export const MAX_ID_CHARACTERS = 1000;
