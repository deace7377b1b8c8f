import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policyFor } from './policy.ts';
import { POLICY, endpointWith } from '../../../test/support/supervisor/endpoints.ts';
import { ANSWERS, Rig, scriptThat } from '../../../test/support/supervisor/rig.ts';

const START_MS = 150;

function rig(): Rig {
  const made = new Rig(START_MS);
  made.scheduler.prepare();
  made.pass(2 * START_MS);
  return made;
}

test('a call whose process got no core for longer than its limit has all of its time from then on', () => {
  using made = rig();
  const limit = POLICY.starvedMs + 100;
  const endpoint = endpointWith({ limit, loadText: ANSWERS });
  made.call(endpoint);
  made.pass(1000);
  made.coreDelay = limit + 300;
  assert.ok(made.call(endpoint) > limit);
});

test('code that takes long to load is not taken for slow', async () => {
  using made = rig();
  const endpoint = endpointWith({ loadText: scriptThat('answer', 400) });
  let problem: string | undefined;
  void made.scheduler.load(endpoint).then((found) => (problem = found));
  for (; problem === undefined; await Promise.resolve()) made.clock.step();
  assert.equal(problem, '');
  assert.equal(endpoint.onProbation, false);
});

test('code whose top level never ends holds up the load of other code for little more than a second', async () => {
  using made = rig();
  void made.scheduler.load(endpointWith({ slot: 1, loadText: scriptThat('hang', 1) }));
  const began = made.clock.now();
  let problem: string | undefined;
  void made.scheduler.load(endpointWith({ slot: 2, loadText: ANSWERS })).then((found) => (problem = found));
  for (; problem === undefined; await Promise.resolve()) made.clock.step();
  assert.equal(problem, '');
  assert.ok(made.clock.now() - began < POLICY.starvedMs + 2 * START_MS + 200);
});

test('code that was found at fault is back once it is known again, where it is quick', () => {
  const endpointAfter = (calls: number, microseconds: number): boolean => {
    const endpoint = endpointWith();
    endpoint.putOnProbation();
    for (let i = 0; i < calls; i++) endpoint.answered(1, microseconds);
    return !endpoint.onProbation;
  };
  assert.equal(endpointAfter(POLICY.knownAfterCalls - 1, 100), false);
  assert.equal(endpointAfter(POLICY.knownAfterCalls, 100), true);
  assert.equal(endpointAfter(100, POLICY.unknownMicroseconds + 1), false);
});

test('all that the scheduler judges by is in a table of at most 15 rows', () => {
  assert.ok(Object.keys(policyFor(2)).length <= 15);
});
