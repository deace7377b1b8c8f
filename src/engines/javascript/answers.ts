/** What callers hear of an answer, and of a call that has none. */
import { bodyNotReadable, executionFailed, invalidInput, overloaded } from '../../lib/errors.ts';
import { placeIn } from './code-frames.ts';
import type { RunFailure } from './frames.ts';
import type { Line } from './from-sandbox.ts';
import type { JsEndpoint, PendingCall } from './js-endpoint.ts';
import type { Work } from './lane.ts';

/** Settles a call with its line of an answer. */
export function deliver(call: PendingCall, line: Line, endpoint: JsEndpoint): void {
  if (typeof line === 'string') call.resolve(line);
  else if (line.fault === 'input') call.reject(bodyNotReadable(`The request body is not JSON: ${line.message}`));
  else if (line.status !== undefined) call.reject(invalidInput(line.message, line.status));
  else call.reject(codeFailed(line.message, line.stack, endpoint));
}

function codeFailed(message: string, stack: string | undefined, { load: { files } }: JsEndpoint): Error {
  const found = placeIn(stack ?? '', (file) => Object.hasOwn(files, file));
  return executionFailed(message, found && { place: { file: found.file, line: found.line } });
}

/** Takes away the calls that got no turn within their time, and answers them. */
export function expire(calls: PendingCall[], now: number, endpoint: JsEndpoint): void {
  for (let i = calls.length - 1; i >= 0; i--) {
    const call = calls[i];
    if (call === undefined || call.patience > now) continue;
    calls.splice(i, 1);
    call.reject(noTurn(endpoint, call));
  }
}

/** "A call that got no turn within its time is 503 with `Retry-After`; one that ran beyond its limit is 500." */
export function noTurn({ id, limit }: JsEndpoint, { deadline }: PendingCall): Error {
  const time = deadline < Infinity ? 'the time that its caller had left' : `${limit / 1000} s`;
  return overloaded(`no sandbox was free for ${id} within ${time}; try again later`);
}

/** For code that ran beyond its time. */
export function timeLimit({ endpoint: { limit, limitedBy }, isCurtailed }: Work): Error {
  return executionFailed(
    isCurtailed
      ? 'no result within the time that its caller had left'
      : `no result within the limit of ${limit / 1000} s (${limitedBy})`,
  );
}

/** SIGKILL comes from outside: an operator, or a system that has no memory left. */
export const endedFromOutside = (): Error =>
  overloaded('the sandbox was ended from outside during the call; try again');

/** The process ended by itself, though nothing else ran in it. `reason`: what is behind the colon is for the log. */
export function endedByCode(endpoint: JsEndpoint, reason: string): Error {
  if (isOutOfMemory(reason)) return memoryLimit(endpoint);
  const [how] = reason.split(':', 1);
  return executionFailed(`the sandbox process ended under this code (${how ?? reason})`);
}
export const isOutOfMemory = (reason: string): boolean => /out of memory|allocation failed/i.test(reason);

export function memoryLimit(endpoint: JsEndpoint): Error {
  return executionFailed(`memory limit of ${endpoint.load.heapMb} MB exceeded (--isolate-memory)`);
}

export function errorOf(failure: RunFailure, work: Work): Error {
  const { endpoint } = work;
  if (failure.why === 'timeout') return timeLimit(work);
  return failure.why === 'memory' ? memoryLimit(endpoint) : codeFailed(failure.message, failure.stack, endpoint);
}
