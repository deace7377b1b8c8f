import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LayeredMap } from './layered-map.ts';

test('a changed map has the changes, over any number of them, and the one before stays as it was', () => {
  const expected = new Map(Array.from({ length: 50 }, (_, i) => [`k${i}`, i]));
  let map = LayeredMap.of(expected);
  for (let step = 0; step < 2000; step++) {
    const key = `k${(step * 7919) % 601}`;
    const value = step % 3 === 0 ? undefined : step;
    const before = map;
    const was = before.get(key);
    map = before.with([[key, value]]);
    assert.equal(before.get(key), was);
    if (value === undefined) expected.delete(key);
    else expected.set(key, value);
  }
  for (let i = 0; i < 601; i++) assert.equal(map.get(`k${i}`), expected.get(`k${i}`));
});
