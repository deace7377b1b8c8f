import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { descendantsOf, gone } from '../../../test/runtimes/support/processes.ts';
import { until } from '../../../test/runtimes/support/until.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';

/** Where the limit is not what is tested. */
const PATIENT = { executionTimeout: 120_000, queueLimit: 5000 };
/** Spins, works for some milliseconds, fills its memory, or answers at once. */
const CODE = `
function run(how) {
  if (how === 'spin') for (;;);
  if (how === 'fill') { const all = []; for (;;) all.push(new Array(1e5).fill({})); }
  if (how.work) { console.log('works'); const end = Date.now() + how.work; while (Date.now() < end); }
  return how;
}`;

/** Ids of the sandbox processes of this test that run. */
async function sandboxes(): Promise<number[]> {
  const pids = await descendantsOf(process.pid);
  const own = await Promise.all(
    pids.map(async (pid) =>
      (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes('supervisor/start'),
    ),
  );
  return pids.filter((_, i) => own[i]);
}

/** Of all tests that need no other. */
const javascript = new TestJavascript(PATIENT);
after(() => javascript[Symbol.asyncDispose]());

test('a sandbox that is ended from outside is replaced, and the calls in it run again', async () => {
  await using own = new TestJavascript(PATIENT);
  const executor = await own.activate(CODE);
  await own.call(executor, 'warm');
  const calls = [{ work: 400 }, 'one', 'two'].map((how) => own.call(executor, how));
  await until('the work has begun', () => own.log.find(({ msg }) => msg === 'works'));
  for (const pid of await sandboxes()) process.kill(pid, 'SIGKILL');
  assert.deepEqual(await Promise.all(calls), [{ work: 400 }, 'one', 'two']);
  assert.equal(own.engine.health().status, 'UP');
});

test('an endpoint that was replaced answers what it had begun', async () => {
  const old = await javascript.activate(CODE);
  const calls = [javascript.call(old, { work: 200 }), javascript.call(old, 'waiting')];
  old.dispose();
  old.dispose();
  assert.deepEqual(await Promise.all(calls), [{ work: 200 }, 'waiting']);
});

test('an engine that ends takes its sandboxes with it, spinning ones too', async () => {
  const executor = await javascript.activate(CODE);
  javascript.call(executor, 'spin').catch(() => undefined);
  const running = await until('it runs', async () => {
    const pids = await sandboxes();
    return pids.length >= 2 ? pids : undefined;
  });
  await javascript[Symbol.asyncDispose]();
  await javascript[Symbol.asyncDispose]();
  await gone(running);
});
