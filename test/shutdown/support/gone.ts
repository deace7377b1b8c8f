import assert from 'node:assert/strict';
import { setTimeout as later } from 'node:timers/promises';
import { isAlive } from '../../hostile/support/footprint.ts';

/** Fails unless all of the processes, of which there must be some, end within the time; the kernel needs a moment. */
export async function assertGone(processes: readonly number[], within = 2000): Promise<void> {
  assert.ok(processes.length >= 2, `${processes.length} processes`);
  for (const until = Date.now() + within; ; await later(20)) {
    const alive = await Promise.all(processes.map(isAlive));
    if (alive.every((each) => !each)) return;
    assert.ok(Date.now() < until, `still there: ${processes.filter((_, i) => alive[i]).join(' ')}`);
  }
}
