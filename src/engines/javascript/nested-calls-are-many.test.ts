/** Nested calls in numbers that ended the sandbox, when each left a timer behind that was due with all others. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ServiceError } from '../../lib/errors.ts';
import { inRound } from '../../../test/support/round.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';
import { Guards } from './sandbox/guards.ts';

/** Seconds. */
const LIMIT = inRound(2, 6);
const COUNT = inRound(40_000, 120_000);
const javascript = new TestJavascript({ isolateMemoryMb: 128 });
after(() => javascript[Symbol.asyncDispose]());
const CALLEE = 'a/callee/1.0/run';
await javascript.activate('function run(n) { return n + 1; }', { id: CALLEE });

test('nested calls without end are ended at the limit, and end no sandbox', async () => {
  const caller = await javascript.activate(
    `function run() { for (let i = 0; ; i++) try { context.getExecutor("${CALLEE}").execute(i, "application/json"); } catch {} }`,
    { options: { timeout: LIMIT * 1000 } },
  );
  // The second call has a process of its own, that would go on after it.
  for (let ended = 0; ended < 2;) {
    const failed = await javascript.call(caller).then(
      () => assert.fail('it ends'),
      (thrown: unknown) => thrown as ServiceError,
    );
    // Told to come again, as on a machine whose cores are taken, it was not begun.
    if (failed.code === 'overloaded') continue;
    assert.equal(
      failed.message,
      `Code execution error: no result within the limit of ${LIMIT} s (timeout in its deployment descriptor)`,
    );
    ended++;
  }
  const ended = javascript.log.filter(({ msg }) => /sandbox/.test(String(msg)));
  assert.deepEqual(ended, []);
});

test('tens of thousands of nested calls give their result', async () => {
  const caller = await javascript.activate(`function run(count) {
    const callee = context.getExecutor("${CALLEE}");
    let n = 0;
    while (n < count) n = callee.execute(n);
    return n;
  }`);
  assert.equal(await javascript.call(caller, COUNT), COUNT);
});

test('a callee with a shorter limit than its caller has left is ended at its own', async () => {
  const id = 'a/short/1.0/run';
  await javascript.activate('function run() { for (;;); }', { id, options: { timeout: 200 } });
  const caller = await javascript.activate(
    `function run() { try { context.getExecutor("${id}").execute(1); } catch (e) { return e.message; } }`,
  );
  assert.equal(await javascript.call(caller), `${id}: it gave no result within the time that was left`);
});

test('timers are given out again when those that were given are due', () => {
  const guards = new Guards();
  let given = 0;
  while (guards.mayAdd(1000, 300)) given++;
  assert.equal(given, 20_000);
  assert.equal(guards.mayAdd(1300, 300), false);
  assert.equal(guards.mayAdd(1301, 300), true);
});
