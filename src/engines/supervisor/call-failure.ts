/** Why a call has no result, for whoever answers its caller. */
import type { CodePlace } from '../../lib/code-place.ts';
import {
  bodyNotReadable,
  callerGone,
  codeError,
  executionFailed,
  executionTimeout,
  invalidInput,
  invalidResult,
  outOfMemory,
  overloaded,
  processEnded,
} from '../../lib/errors.ts';
import { cutWords } from '../../lib/text.ts';

/**
 * `thrown`: the code threw it; `invalid`: it says that the input is at fault; `unreadable`: the input is not JSON;
 * `timeout`, `memory`: it passed a limit; `ended`: its process ended; `unwritable`: JSON cannot hold its result, or it is
 * too large; `unloaded`: the code could not be loaded; `failed`: another reason; `busy`: it had no turn; `gone`: nobody
 * waits for it any more.
 */
export type FailureKind =
  | 'thrown'
  | 'invalid'
  | 'unreadable'
  | 'timeout'
  | 'memory'
  | 'ended'
  | 'unwritable'
  | 'unloaded'
  | 'failed'
  | 'busy'
  | 'gone';

export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly kind: FailureKind;
  /** Of `invalid`. */
  readonly status: 400 | 422 | undefined;
  /** Its worker should get no more calls. */
  readonly retires: boolean;
  /** Another call in its process may be at fault: one that ended this, or kept it from its turn. */
  readonly isOfOthers: boolean;
  /** Where in the knowledge object. */
  readonly place: CodePlace | undefined;

  constructor(
    kind: FailureKind,
    description: string,
    more: { status?: 400 | 422; place?: CodePlace; retires?: boolean; isOfOthers?: boolean } = {},
  ) {
    super(description);
    this.kind = kind;
    this.status = more.status;
    this.retires = more.retires === true;
    this.isOfOthers = more.isOfOthers === true;
    this.place = more.place;
  }
}

const UNCAUGHT = ' (it was not caught and ended the process of the knowledge object)';
/** `description`: of an exception, as its process gave it. */
export const uncaught = (description: string): string => description + UNCAUGHT;
/** For the log: what code says may be about its input. */
export const withoutUncaught = (reason: string): string =>
  reason.endsWith(UNCAUGHT) ? `an exception was not caught and ended the process of the knowledge object` : reason;

/** `0.38 s`. */
export const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 10) / 100} s`;

export const failed = (description: string): CallFailure => new CallFailure('failed', description);
export const workerEnded = (description: string): CallFailure => new CallFailure('ended', description);
export const passedLimit = (limitMs: number): CallFailure =>
  new CallFailure('timeout', `The call passed its time limit of ${seconds(limitMs)}`, { isOfOthers: true });
export const loadPassedLimit = (limitMs: number): string =>
  `Loading the knowledge object passed its time limit of ${seconds(limitMs)}`;
export const hadNoTurn = (ko: string, limitMs: number, problem: string | undefined): CallFailure =>
  new CallFailure('busy', problem ?? `${ko} was busy for the ${seconds(limitMs)} that the call could wait`);
export const queueIsFull = (ko: string, waiting: number): CallFailure =>
  new CallFailure('busy', `${ko} has ${waiting} calls waiting already`);
export const isStopping = (): CallFailure => new CallFailure('busy', 'it is stopping; try again later');
export const isAbandoned = (): CallFailure => new CallFailure('gone', 'The client went away before its call began');

export const wasUnloaded = (error: Error): boolean => error instanceof CallFailure && error.kind === 'unloaded';

export function toServiceError(error: Error): Error {
  if (!(error instanceof CallFailure)) return error;
  const { kind, message, status, place } = error;
  const words = cutWords(message);
  if (kind === 'invalid' && status !== undefined) return invalidInput(words, status);
  if (kind === 'unreadable')
    return bodyNotReadable(
      `The request body is not JSON: ${words.replace(/^SyntaxError: |^The body is not JSON: /, '')}`,
    );
  if (kind === 'busy') return overloaded(words);
  if (kind === 'gone') return callerGone(message);
  return (ERRORS[kind] ?? executionFailed)(words, { place });
}

const ERRORS: { readonly [Kind in FailureKind]?: typeof executionFailed } = {
  ...{ thrown: codeError, invalid: codeError, unloaded: codeError },
  ...{ timeout: executionTimeout, memory: outOfMemory, ended: processEnded, unwritable: invalidResult },
};
