import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { wellBehavedKo } from '../hostile/support/companion.ts';
import { assertBackTo, MEGABYTE, restingFootprintOf } from '../hostile/support/footprint.ts';
import { inRound } from '../support/round.ts';
import { runMixedLoad } from './support/mixed-load.ts';
import { Heap, INSPECTED } from './support/heap.ts';

test('20 clients at the same knowledge objects see whole versions only, and the last acknowledged stays', async (t) => {
  await using service = await startService({ env: INSPECTED });
  using heap = await Heap.of(service);
  // From its first line on the file of the audit stays open, and from the first call on a sandbox and its spare are there.
  const other = wellBehavedKo(uniqueNaan());
  await service.serve(other);
  assert.equal((await service.post(pathOf(other), { a: 1, b: 2, words: [] })).status, 200);
  const [before, used] = [await restingFootprintOf(service.pid), await heap.used()];
  const seed = Date.now() % 2 ** 31;
  t.diagnostic(`seed ${seed}`);
  t.diagnostic(JSON.stringify(await runMixedLoad(service, { seconds: inRound(1, 5), seed })));
  const grown = (await heap.used()) - used;
  assert.ok(grown < 10 * MEGABYTE, `${grown} bytes more are in use`);
  await assertBackTo(before, service.pid, { memory: 100 * MEGABYTE });
});
