/** "Calls waiting for one KO: 1,000; beyond it 503, `Retry-After`." */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRequestError } from '../acceptance/support/expectations.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { Companion, wellBehavedKo } from '../hostile/support/companion.ts';
import { assertBackTo, restingFootprintOf } from '../hostile/support/footprint.ts';
import { Pace } from '../hostile/support/pace.ts';
import { inRound } from '../support/round.ts';

const WAITING = 20;
/** Calls that may run at the same time beside those that wait, at the very most. */
const RUNNING = 10;
const ALL = 80;
/** All that are taken are answered, however busy the machine is. */
const PATIENCE = '60s';
const service = await startService({ args: ['--queue-limit', String(WAITING), '--execution-timeout', PATIENCE] });
after(() => service[Symbol.asyncDispose]());
const naan = uniqueNaan();
const well = wellBehavedKo(naan);
const WORK_MS = inRound(60, 150);
const slow = javascriptKo(
  `function run(n) { const end = Date.now() + ${WORK_MS}; while (Date.now() < end); return n; }`,
  {
    naan,
    name: 'slow',
  },
);
await service.serve(well, slow);

test('what is beyond the queue is refused at once, and the rest is answered', async () => {
  const before = await restingFootprintOf(service.pid);
  using companion = new Companion(service, well);
  using pace = new Pace();
  for (let round = 0, refusals = 0; refusals === 0; round++) {
    assert.ok(round < 5, 'none is refused');
    const start = Date.now();
    const calls = await Promise.all(
      Array.from({ length: ALL }, async (_, n) => {
        const began = Date.now();
        return { n, answer: await service.post(pathOf(slow), n), took: Date.now() - began };
      }),
    );
    const refused = calls.filter(({ answer }) => answer.status === 503);
    const taken = calls.filter(({ answer }) => answer.status !== 503);
    refusals = refused.length;
    // Where clients and service get no turn for a while, many end before the last of them come.
    const most = inRound(ALL, WAITING + RUNNING);
    assert.ok(taken.length >= WAITING && taken.length <= most, `${taken.length} were taken`);
    for (const { n, answer } of taken) assert.equal(answer.object['result'], n, answer.text);
    const soonest = Math.min(...taken.map(({ took }) => took));
    for (const { answer, took } of refused) {
      assertRequestError(answer, {
        status: 503,
        path: pathOf(slow),
        title: 'Service Unavailable',
        detail: new RegExp(`^${WAITING} calls wait for ${slow.naan}/slow/1\\.0/run already`),
      });
      assert.match(String(answer.headers['retry-after']), /^\d+$/);
      assert.ok(took < soonest + pace.allowed(1000, start, took), `refused after ${took} ms`);
    }
  }
  await companion.assertUndisturbed();
  await assertBackTo(before, service.pid);
});
