/** SIGKILL for every sandbox again and again, while clients call. */
import assert from 'node:assert/strict';
import { setTimeout as later } from 'node:timers/promises';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../../acceptance/support/ko.ts';
import { startService } from '../../acceptance/support/service.ts';
import { assertBackTo, footprintOf, MEGABYTE, restingFootprintOf } from '../../hostile/support/footprint.ts';
import { Heap, INSPECTED } from '../../load/support/heap.ts';

const KILL_EVERY_MS = 200;
const CLIENTS = 4;
const RECOVERED_WITHIN_MS = 60_000;
const LONGEST_MS = 60_000;

/** What came of the calls, by status; and how many processes were killed. */
export interface Killing {
  readonly statuses: Readonly<Record<number, number>>;
  readonly killed: number;
}

/**
 * Calls are answered right or with 503, the service comes back by itself, and nothing is left of the dead. Goes on until
 * `least` were killed, since how many come up in a second is the machine's matter.
 */
export async function killSandboxes(seconds: number, least = 1): Promise<Killing> {
  await using service = await startService({ env: INSPECTED, args: ['--execution-timeout', '2s'] });
  using heap = await Heap.of(service);
  const naan = uniqueNaan();
  const quick = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'quick' });
  const slow = javascriptKo(
    'function run(n) { const end = Date.now() + 40; while (Date.now() < end); return n + 1; }',
    { naan, name: 'slow' },
  );
  await service.serve(quick, slow);
  const [before, used] = [await restingFootprintOf(service.pid), await heap.used()];

  const statuses: Record<number, number> = {};
  let [over, killed, n] = [false, 0, 0];
  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    const ko = i === 0 ? slow : quick;
    while (!over) {
      const input = n++;
      const answer = await service.post(pathOf(ko), input);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      if (answer.status === 200) assert.equal(answer.object['result'], input + 1);
      else {
        assert.equal(answer.status, 503, answer.text);
        assert.match(String(answer.headers['retry-after']), /^\d+$/);
      }
      assert.equal((await service.get('/actuator/health/liveness')).status, 200);
    }
  });
  const began = Date.now();
  const goesOn = (): boolean =>
    Date.now() < began + seconds * 1000 || (killed < least && Date.now() < began + LONGEST_MS);
  for (; goesOn(); await later(KILL_EVERY_MS)) {
    for (const pid of (await footprintOf(service.pid)).children) {
      try {
        process.kill(pid, 'SIGKILL');
        killed++;
      } catch {
        // It has ended by itself meanwhile.
      }
    }
  }
  over = true;
  await Promise.all(clients);

  for (const until = Date.now() + RECOVERED_WITHIN_MS; ; await later(50)) {
    const answers = await Promise.all([quick, slow].map((ko) => service.post(pathOf(ko), 1)));
    if (answers.every(({ status }) => status === 200)) break;
    assert.ok(Date.now() < until, answers.map(({ text }) => text).join(' '));
  }
  assert.equal((await service.get('/actuator/health')).object['status'], 'UP');
  const grown = (await heap.used()) - used;
  assert.ok(grown < 10 * MEGABYTE, `${grown} bytes more are in use`);
  await assertBackTo(before, service.pid);
  return { statuses, killed };
}
