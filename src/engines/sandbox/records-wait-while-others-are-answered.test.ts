import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/support/random.ts';
import type { RecordsAnswer } from '../records.ts';
import { Scheduler } from './scheduler.ts';
import { POLICY, endpointWith } from './support/endpoints.ts';
import { FakeClock } from './support/fake-clock.ts';
import { FakeSandbox } from './support/fake-sandbox.ts';

const LIMIT_MS = 5000;
const COUNT = 3;
const RECORDS = Array<string>(COUNT).fill('{}').join('\n');
/** A step of the clock is at most one tick, or what happens in it. */
const MOST_STEPS = 100_000;

const SCOPE = { find: () => undefined, call: () => Promise.reject(new Error('nothing is called')) };

/** Milliseconds until records are answered, and with what. `start`: how that of each process goes. */
function giveUp(start: 'exit' | 'never'): { after: number; answer: RecordsAnswer } {
  const clock = new FakeClock();
  const environment = {
    clock,
    random: new Random(1),
    start: () => start,
    coreDelay: () => 0,
    fault: (what: string) => assert.fail(what),
    onRun: () => undefined,
    onOver: () => undefined,
    onGone: () => undefined,
  };
  using scheduler = new Scheduler({
    sandboxes: 1,
    memoryMb: 32,
    queueLimit: 10,
    start: (events) => new FakeSandbox(environment, events),
    answer: () => ({ text: '' }),
    warn: () => undefined,
    clock,
  });
  const began = clock.now();
  let answer: RecordsAnswer | undefined;
  const put = (_at: number, all: RecordsAnswer): void => void (answer = all);
  scheduler.submitRecords(endpointWith({ limit: LIMIT_MS, loadText: '{"ms":1000,"does":"answer"}' }), {
    ...{ input: RECORDS, records: { at: 0, count: COUNT, put }, depth: 0, scope: SCOPE, came: began, caller: '' },
    ...{ beginBy: Infinity, deadline: Infinity, resolve: assert.fail, reject: assert.fail },
  });
  for (let step = 0; answer === undefined; step++) {
    assert.ok(step < MOST_STEPS, `no answer after ${clock.now() - began} ms`);
    clock.step();
  }
  return { after: clock.now() - began, answer };
}

for (const [start, patience] of [
  ['exit', LIMIT_MS],
  ['never', LIMIT_MS + POLICY.unansweredMs],
] as const)
  test(`where no process comes up, records are given up in the end (${start})`, () => {
    const { after, answer } = giveUp(start);
    assert.equal(answer.length, COUNT);
    for (const each of answer) {
      assert.ok(each instanceof Error);
      assert.match(each.message, /^no sandbox came to run records of a\/b\/1\.0\/run/);
    }
    assert.ok(after >= patience && after < patience + 1000, `after ${after} ms`);
  });
