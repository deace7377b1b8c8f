import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/support/random.ts';
import type { RecordsAnswer } from '../records.ts';
import type { Endpoint } from './endpoint.ts';
import { Pool } from './pool.ts';
import { endpointWith } from '../../../test/support/supervisor/endpoints.ts';
import { UNANSWERED_MS } from './waiting-work.ts';
import { FakeClock } from '../../../test/support/supervisor/fake-clock.ts';
import { FakeSandbox } from '../../../test/support/supervisor/fake-sandbox.ts';

const LIMIT_MS = 5000;
const COUNT = 3;
const RECORDS = Array<string>(COUNT).fill('{"id":1,"does":"hang","ms":1}').join('\n');
/** A step of the clock is at most one tick, or what happens in it. */
const MOST_STEPS = 100_000;

const SCOPE = { find: () => undefined, call: () => Promise.reject(new Error('nothing is called')) };

/** Milliseconds until records are answered, and with what. `start`: how that of each process goes; one that runs a record is killed. */
function giveUp(start: 'exit' | 'never' | number): { endpoint: Endpoint; after: number; answer: readonly Error[] } {
  const clock = new FakeClock();
  const living = new Set<FakeSandbox>();
  const environment = {
    clock,
    random: new Random(1),
    start: () => start,
    coreDelay: () => 0,
    // It knows no records: where it is given some, it is killed.
    fault: () => living.forEach((process) => process.exit('SIGKILL')),
    onRun: () => undefined,
    onOver: () => undefined,
    onGone: (process: FakeSandbox) => void living.delete(process),
  };
  using scheduler = new Pool({
    sandboxes: 1,
    memoryMb: 32,
    queueLimit: 10,
    start: (events) => {
      const process = new FakeSandbox(environment, events);
      living.add(process);
      return process;
    },
    conduct: { inTurn: { answer: () => ({ text: '' }), warn: () => undefined } },
    clock,
  });
  const began = clock.now();
  const answer: Error[] = [];
  const put = (_at: number, part: RecordsAnswer): void =>
    void answer.push(...part.filter((each) => each instanceof Error));
  const endpoint = endpointWith({ limit: LIMIT_MS, loadText: '{"ms":1,"does":"answer"}' });
  scheduler.submitRecords(endpoint, {
    ...{ input: RECORDS, records: { at: 0, count: COUNT, put }, depth: 0, scope: SCOPE, came: began, caller: '' },
    ...{ beginBy: Infinity, deadline: Infinity, resolve: assert.fail, reject: assert.fail },
  });
  for (let step = 0; answer.length < COUNT; step++) {
    assert.ok(step < MOST_STEPS, `no answer after ${clock.now() - began} ms`);
    clock.step();
  }
  return { endpoint, after: clock.now() - began, answer };
}

for (const [start, longest] of [
  ['exit', LIMIT_MS],
  ['never', LIMIT_MS + UNANSWERED_MS],
] as const)
  test(`where no process comes up, records are given up in the end (${start})`, () => {
    const { after, answer } = giveUp(start);
    assert.equal(answer.length, COUNT);
    for (const each of answer) {
      assert.match(each.message, /^no sandbox came to run records of a\/b\/1\.0\/run/);
    }
    assert.ok(after >= longest && after < longest + 1000, `after ${after} ms`);
  });

test('an endpoint whose records are killed from outside keeps its place', () => {
  const { endpoint, answer } = giveUp(100);
  for (const each of answer) assert.match(each.message, /^the sandbox was ended from outside during the call/);
  assert.equal(endpoint.onProbation, false);
});
