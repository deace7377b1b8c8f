/** What callers hear of an answer, and of a call that has none. */
import { bodyNotReadable, executionFailed, overloaded } from '../../lib/errors.ts';
import type { RunFailure } from './frames.ts';
import type { JsEndpoint, PendingCall } from './js-endpoint.ts';
import type { Lane } from './lane.ts';

/** Settles a call with its line of an answer; see `sandbox/guest.js`. */
export function deliver(call: PendingCall, line: string): void {
  const head = line.charCodeAt(0);
  if (head === BANG) call.reject(executionFailed(JSON.parse(line.slice(1)) as string));
  else if (head === QUESTION)
    call.reject(bodyNotReadable(`The request body is not JSON: ${JSON.parse(line.slice(1)) as string}`));
  else call.resolve(line);
}
const BANG = 33;
const QUESTION = 63;

/** Takes away the calls whose limit passed while they waited for their turn, and answers them. */
export function expire(calls: PendingCall[], now: number, error: () => Error): void {
  for (let i = calls.length - 1; i >= 0; i--) {
    const call = calls[i];
    if (call === undefined || call.deadline > now) continue;
    calls.splice(i, 1);
    call.reject(error());
  }
}

export function timeLimit(endpoint: JsEndpoint): Error {
  return executionFailed(`no result within the limit of ${endpoint.limit / 1000} s (${endpoint.limitedBy})`);
}

/**
 * For a call whose limit passed before its code began. Where the endpoint's own calls run into the limit, it is the
 * limit that it hears of; else others kept it from its turn, and the caller may try again.
 */
export function lateError(endpoint: JsEndpoint, lanes: readonly Lane[], now: number): Error {
  const isSlow = ({ open: [work], progress }: Lane): boolean =>
    work?.endpoint === endpoint && now - progress > endpoint.limit / 2;
  if (endpoint.runsAway || lanes.some(isSlow)) return timeLimit(endpoint);
  return overloaded(`no sandbox was free for ${endpoint.id} within ${endpoint.limit / 1000} s; try again later`);
}

/** Nobody knows whether the code, its neighbours or an operator made the system end its sandbox. */
export function endedFromOutside(): Error {
  return overloaded('the sandbox was ended during the call; try again');
}

export function memoryLimit(endpoint: JsEndpoint): Error {
  return executionFailed(`memory limit of ${endpoint.load.heapMb} MB exceeded (--isolate-memory)`);
}

export function errorOf(failure: RunFailure, endpoint: JsEndpoint): Error {
  if (failure.why === 'timeout') return timeLimit(endpoint);
  return failure.why === 'memory' ? memoryLimit(endpoint) : executionFailed(failure.message);
}
