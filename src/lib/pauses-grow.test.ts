import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from './backoff.ts';

test('pauses double up to the longest, and begin anew after a success', () => {
  const backoff = new Backoff(100, 500);
  const some = (): number[] => Array.from({ length: 5 }, () => backoff.next());
  assert.deepEqual(some(), [100, 200, 400, 500, 500]);
  backoff.reset();
  assert.deepEqual(some(), [100, 200, 400, 500, 500]);
});
