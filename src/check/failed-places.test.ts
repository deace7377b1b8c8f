import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailedPlaces, withPlace } from './run-examples.ts';

test('a call that failed has its place, whatever others do meanwhile', () => {
  const places = new FailedPlaces();
  const [one, two] = [places.expect(), places.expect()];
  assert.notEqual(one, two);
  assert.equal(places.add(two, '(src/b.js line 2)'), true);
  assert.equal(places.add(one, '(src/a.js line 1)'), true);
  assert.equal(places.take(one), '(src/a.js line 1)');
  assert.equal(places.take(two), '(src/b.js line 2)');
});

test('a call of somebody else is none, and one that has its answer is forgotten', () => {
  const places = new FailedPlaces();
  const mine = places.expect();
  assert.equal(places.add('theirs', '(src/a.js line 1)'), false);
  assert.equal(places.take(mine), '');
  assert.equal(places.add(mine, '(src/a.js line 1)'), false);
  assert.equal(places.take(mine), '');
});

test('the place stands behind the message once', () => {
  assert.equal(withPlace('TypeError: x', '(src/a.js line 1)'), 'TypeError: x (src/a.js line 1)');
  assert.equal(withPlace('SyntaxError: x (src/a.js line 1)', '(src/a.js line 1)'), 'SyntaxError: x (src/a.js line 1)');
  assert.equal(withPlace('TypeError: x', ''), 'TypeError: x');
});
