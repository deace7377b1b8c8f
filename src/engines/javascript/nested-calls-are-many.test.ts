/** Nested calls in numbers that ended the sandbox, when each left a timer behind that was due with all others. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { inRound } from '../../../test/support/round.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';
import { Guards } from './sandbox/guards.ts';

const COUNT = inRound(40_000, 120_000);
const javascript = new TestJavascript({ isolateMemoryMb: 128 });
after(() => javascript[Symbol.asyncDispose]());
const CALLEE = 'a/callee/1.0/run';
await javascript.activate('function run(n) { return n + 1; }', { id: CALLEE });

test('tens of thousands of nested calls give their result', async () => {
  const caller = await javascript.activate(`function run(count) {
    const callee = context.getExecutor("${CALLEE}");
    let n = 0;
    while (n < count) n = callee.execute(n);
    return n;
  }`);
  assert.equal(await javascript.call(caller, COUNT), COUNT);
});

test('timers are given out again when those that were given are due', () => {
  const guards = new Guards();
  let given = 0;
  while (guards.mayAdd(1000, 300)) given++;
  assert.equal(given, 20_000);
  assert.equal(guards.mayAdd(1300, 300), false);
  assert.equal(guards.mayAdd(1301, 300), true);
});
