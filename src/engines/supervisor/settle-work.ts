/** Ends the work of workers, once. */
import { failed, loadPassedLimit, passedLimit } from './call-failure.ts';
import type { CallFailure } from './call-failure.ts';
import type { Open } from './open-work.ts';
import type { WorkerWork } from './worker-call.ts';

/** Answers what has no answer yet. `outcome`: the result as JSON text, or why there is none. */
export function settle(work: WorkerWork, outcome: string | CallFailure): void {
  if (hasEnded(work)) return;
  if (work.state === 'asking') work.hear();
  const [call] = work.calls;
  if (call === undefined) return work.endLoad(typeof outcome === 'string' ? '' : outcome.message);
  work.answer();
  work.settle(call, outcome);
}

export function fail(work: WorkerWork, failure: CallFailure): void {
  if (hasEnded(work)) return;
  if (work.kind === 'load') work.endLoad(failure.message);
  else work.fail(() => failure);
}

/** Fails what passed its limit; says whether any did. */
export function failOverdue(open: Iterable<Open>, now: number): boolean {
  let passed = false;
  for (const { work } of open) {
    const [call] = work.calls;
    if ((call ?? work).deadline > now || hasEnded(work)) continue;
    passed = true;
    fail(work, call === undefined ? failed(loadPassedLimit(work.endpoint.limit)) : passedLimit(call.limitMs));
  }
  return passed;
}

export const hasEnded = ({ state }: WorkerWork): boolean => state === 'answered' || state === 'failed';
