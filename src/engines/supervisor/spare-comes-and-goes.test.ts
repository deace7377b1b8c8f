import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from './endpoint.ts';
import { IDLE_UNTIL_ASLEEP_MS } from './pool.ts';
import { POLICY, endpointWith } from '../../../test/support/supervisor/endpoints.ts';
import { ANSWERS, Rig } from '../../../test/support/supervisor/rig.ts';

const START_MS = 300;
/** Without work, until the spare goes. */
const REST_MS = IDLE_UNTIL_ASLEEP_MS + POLICY.standbyIdleMs;
const endpoint = (slot: number): Endpoint => endpointWith({ slot, loadText: ANSWERS });

test('there is no process before there is code, and one for calls once there is', () => {
  using rig = new Rig(START_MS);
  rig.pass(100_000);
  assert.equal(rig.started, 0);
  rig.scheduler.prepare();
  rig.scheduler.prepare();
  rig.pass(START_MS);
  assert.equal(rig.living.size, 1);
});

test('the spare goes after a rest and comes with the next call, which does not wait for it', () => {
  using rig = new Rig(START_MS);
  rig.scheduler.prepare();
  rig.pass(START_MS);
  for (let round = 1; round <= 3; round++) {
    // Of code that nobody knows yet, and then of code that is known.
    assert.ok(rig.call(endpoint(round)) < START_MS / 2, 'the first call waits for the spare');
    assert.equal(rig.living.size, 2);
    assert.ok(rig.call(endpoint(round)) < START_MS + 100);
    rig.pass(REST_MS - 1000);
    assert.equal(rig.living.size, 2, 'the spare goes too early');
    rig.pass(2000);
    assert.equal(rig.living.size, 1, 'the spare stays');
  }
  assert.equal(rig.started, 4);
});

test('a call in the last moment of a rest keeps the spare', () => {
  using rig = new Rig(START_MS);
  rig.scheduler.prepare();
  rig.pass(START_MS);
  rig.call(endpoint(1));
  rig.pass(REST_MS - 500);
  rig.call(endpoint(1));
  rig.pass(REST_MS - 1000);
  assert.equal(rig.living.size, 2);
});

test('a process for calls that ends during a rest is replaced, and there is no more than that', () => {
  using rig = new Rig(START_MS);
  rig.scheduler.prepare();
  rig.pass(START_MS);
  rig.call(endpoint(1));
  rig.pass(REST_MS + 1000);
  for (const process of rig.living) process.exit('SIGKILL');
  rig.pass(1000);
  assert.equal(rig.living.size, 1);
  assert.ok(rig.call(endpoint(1)) < START_MS / 2);
});

test('where no code was ever called, a call that comes at once waits for its process only', () => {
  using rig = new Rig(START_MS);
  rig.scheduler.prepare();
  assert.ok(rig.call(endpoint(1)) <= START_MS + 50);
});
