import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tries } from './tries.ts';

test('many failed tries slow their pair of account and address alone, for a while', () => {
  let now = 0;
  const tries = new Tries(() => now);
  for (let n = 0; n < 49; n++) tries.failed('ann', '10.0.0.1');
  assert.equal(tries.pause('ann', '10.0.0.1'), 0);
  tries.failed('ann', '10.0.0.1');
  assert.equal(tries.pause('ann', '10.0.0.1'), 1000);
  assert.equal(tries.pause('ann', '10.0.0.2'), 0);
  assert.equal(tries.pause('bob', '10.0.0.1'), 0);
  now += 1000;
  assert.equal(tries.pause('ann', '10.0.0.1'), 0);
  for (let n = 0; n < 100; n++) tries.failed('ann', '10.0.0.1');
  assert.equal(tries.pause('ann', '10.0.0.1'), 30_000);
  now += 30_000;
  tries.succeeded('ann', '10.0.0.1');
  tries.failed('ann', '10.0.0.1');
  assert.equal(tries.pause('ann', '10.0.0.1'), 0);
});

test('what others try does not fill the memory', () => {
  const tries = new Tries(() => 0);
  for (let n = 0; n < 60; n++) tries.failed('ann', 'a');
  for (let n = 0; n < 20_000; n++) tries.failed(`user ${n}`, 'b');
  assert.equal(tries.pause('ann', 'a'), 0);
});
