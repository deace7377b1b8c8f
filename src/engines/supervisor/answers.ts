/** What callers hear of an answer, and of a call that has none. */
import { KILLED_FOR_MEMORY } from './process.ts';
import {
  bodyNotReadable,
  callerGone,
  codeError,
  executionTimeout,
  invalidInput,
  invalidResult,
  outOfMemory,
  overloaded,
  processEnded,
} from '../../lib/errors.ts';
import type { Endpoint, Words } from './endpoint.ts';
import type { ProgramFailure } from './from-program.ts';
import type { PendingCall } from './work.ts';
import type { Work } from './work.ts';

export function errorOf({ kind, description, status, stack }: ProgramFailure, work: Work): Error {
  const { endpoint } = work;
  if (kind === 'timeout') return timeLimit(work);
  if (kind === 'memory') return memoryLimit(endpoint.parts);
  if (kind === 'unreadable') return bodyNotReadable(`The request body is not JSON: ${description}`);
  if (kind === 'unwritable') return invalidResult(description);
  return status === undefined ? codeFailed(description, stack, endpoint) : invalidInput(description, status);
}

function codeFailed(message: string, stack: string | undefined, { parts }: Endpoint): Error {
  const found = parts.placeIn(stack ?? '');
  return codeError(parts.explain(message), found && { place: { file: found.file, line: found.line } });
}

/** Nobody waits for it any more. */
const abandoned = ({ id }: Pick<Endpoint, 'id'>): Error =>
  callerGone(`The client went away before its call of ${id} began`);

/** "A call that got no turn within its time is 503 with `Retry-After`; one that ran beyond its limit is 500." */
export function noTurn({ id, limit }: Endpoint, { deadline }: PendingCall): Error {
  const time = deadline < Infinity ? 'the time that its caller had left' : `${limit / 1000} s`;
  return overloaded(`no sandbox was free for ${id} within ${time}; try again later`);
}

const noSandbox = ({ id }: Endpoint): Error =>
  overloaded(`no sandbox came to run records of ${id}, of which the log of the service tells more; try again later`);

const queueFull = ({ id }: Endpoint, limit: number): Error =>
  overloaded(`${limit} calls wait for ${id} already; try again later`);

export const ending = (): Error => overloaded('the service is stopping; try again later');

/** SIGKILL comes from outside: an operator, or a system that has no memory left. */
export const isFromOutside = (reason: string): boolean => reason.startsWith('SIGKILL');

/** The process ended under the work. `reason`: what is behind the colon is for the log. */
export function sandboxEnded({ parts }: Endpoint, reason: string): Error {
  if (reason.includes(KILLED_FOR_MEMORY))
    return overloaded('the kernel ended the sandbox during the call, since no memory was left; try again later');
  if (isFromOutside(reason)) return overloaded('the sandbox was ended from outside during the call; try again');
  if (isOutOfMemory(reason)) return memoryLimit(parts);
  const [how] = reason.split(':', 1);
  return processEnded(`the sandbox process ended under this code (${how ?? reason})`);
}

/** Why code cannot be loaded under which a process ended. */
export const endedLoading = (reason: string): string =>
  isOutOfMemory(reason) ? 'memory' : `the sandbox process ended while the code was loaded (${reason})`;

const isOutOfMemory = (reason: string): boolean => /out of memory|allocation failed/i.test(reason);

const memoryLimit = ({ memoryMb, memoryLimitedBy }: Endpoint['parts']): Error =>
  outOfMemory(`memory limit of ${memoryMb} MB exceeded (${memoryLimitedBy})`);

/** For code that ran beyond its time. */
const timeLimit = ({ endpoint: { limit, parts }, isShortened }: Work): Error =>
  executionTimeout(
    isShortened
      ? 'no result within the time that its caller had left'
      : `no result within the limit of ${limit / 1000} s (${parts.limitedBy})`,
  );

export const words: Words = {
  abandoned,
  noTurn: (endpoint, call) => (call.came === undefined ? noTurn(endpoint, call) : noSandbox(endpoint)),
  queueFull,
  ending,
  errorOf,
};
