import assert from 'node:assert/strict';
import { setTimeout as later } from 'node:timers/promises';
import { isAlive } from '../../hostile/support/footprint.ts';

/** Much more than they need, also on a busy machine. */
const GIVEN_UP_MS = 60_000;

/** Fails unless all of the processes, of which there must be some, end. */
export async function assertGone(processes: readonly number[]): Promise<void> {
  assert.ok(processes.length >= 2, `${processes.length} processes`);
  for (const until = Date.now() + GIVEN_UP_MS; ; await later(20)) {
    const alive = await Promise.all(processes.map(isAlive));
    if (alive.every((each) => !each)) return;
    assert.ok(Date.now() < until, `still there: ${processes.filter((_, i) => alive[i]).join(' ')}`);
  }
}
