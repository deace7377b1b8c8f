import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { descendantsOf, gone } from '../../../test/runtimes/support/processes.ts';
import { until } from '../../../test/runtimes/support/until.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';
import { uptime } from '../../lib/time.ts';

/** Milliseconds. */
const LIMIT = 1000;
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

const settled = (work: Promise<unknown>): Promise<{ took: number; outcome: unknown }> => {
  const began = Date.now();
  return work.then(
    (result) => ({ took: Date.now() - began, outcome: result }),
    (thrown: Error) => ({ took: Date.now() - began, outcome: thrown.message }),
  );
};

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

test('an endless loop is ended at its limit, not before', async () => {
  const executor = await javascript.activate(CODE, { options: { timeout: LIMIT } });
  const { took, outcome } = await settled(javascript.call(executor, 'spin'));
  assert.equal(
    outcome,
    'Code execution error: no result within the limit of 1 s (timeout in its deployment descriptor)',
  );
  assert.ok(took >= LIMIT - 50, `${took} ms`);
});

test('a memory limit costs only its call', async () => {
  const executor = await javascript.activate(CODE);
  await javascript.call(executor, 'warm');
  const [filled, ...others] = await Promise.all(
    ['fill', 'one', 'two', 'three'].map((how) => settled(javascript.call(executor, how))),
  );
  assert.equal(filled?.outcome, 'Code execution error: memory limit of 32 MB exceeded (--isolate-memory)');
  assert.deepEqual(
    others.map(({ outcome }) => outcome),
    ['one', 'two', 'three'],
  );
  assert.equal(await javascript.call(executor, 'after'), 'after');
});

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

test('calls have the time that their caller has left, and no more may wait than the limit', async () => {
  await using short = new TestJavascript({ ...PATIENT, queueLimit: 5 });
  const executor = await short.activate(CODE);
  await short.call(executor, 'warm');
  const hurried = await settled(short.call(executor, 'spin', { deadline: uptime() + 300 }));
  assert.equal(hurried.outcome, 'Code execution error: no result within the time that its caller had left');
  assert.ok(hurried.took < PATIENT.executionTimeout / 2, `${hurried.took} ms`);
  const many = await Promise.allSettled(Array.from({ length: 9 }, (_, n) => short.call(executor, `${n}`)));
  const refused = many.flatMap((each) => (each.status === 'rejected' ? [each.reason as { code: string }] : []));
  assert.deepEqual(
    refused.map(({ code }) => code),
    ['overloaded', 'overloaded', 'overloaded', 'overloaded'],
  );
});

test('thousands of calls at once get each their own answer', async () => {
  const executor = await javascript.activate('function run(n) { if (n % 100 === 7) throw n; return -n; }');
  const numbers = Array.from({ length: 3000 }, (_, i) => i + 1);
  const results = await Promise.allSettled(numbers.map((n) => javascript.call(executor, n)));
  for (const [i, n] of numbers.entries()) {
    const result = results[i];
    if (n % 100 === 7) assert.match(String((result as PromiseRejectedResult).reason), new RegExp(`\\b${n}\\b`));
    else assert.equal((result as PromiseFulfilledResult<unknown>).value, -n);
  }
});

test('calls beside an endless loop are answered before its limit, in the same knowledge object and in others', async () => {
  const [spinner, other] = [await javascript.activate(CODE), await javascript.activate(CODE, { id: 'a/c/1.0/run' })];
  for (const each of [spinner, other]) await javascript.call(each, 'warm');
  let isOver = false;
  // It goes on until the engine ends.
  void settled(javascript.call(spinner, 'spin')).finally(() => (isOver = true));
  const beside = Array.from({ length: 20 }, (_, n) => [
    settled(javascript.call(spinner, `same ${n}`)),
    settled(javascript.call(other, `other ${n}`)),
  ]);
  for (const { outcome } of await Promise.all(beside.flat())) assert.match(String(outcome), /^(same|other) \d+$/);
  assert.equal(isOver, false, 'they waited for the loop');
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
