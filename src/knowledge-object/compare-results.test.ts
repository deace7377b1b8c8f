import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differences } from './compare-results.js';

const agree: [string, unknown, unknown, number][] = [
  ['the keys given of an object', { a: 1 }, { a: 1, b: 2 }, 0],
  ['an object in an object', { a: { b: 1 } }, { a: { b: 1, c: 2 } }, 0],
  ['every element of a list', [{ a: 1 }, 'x'], [{ a: 1, b: 2 }, 'x'], 0],
  ['a number within the tolerance', { a: 93.3 }, { a: 93.349 }, 0.05],
  ['a number at the tolerance', 1, 1.5, 0.5],
  ['texts, booleans and null', { a: 'x', b: false, c: null }, { a: 'x', b: false, c: null }, 0],
  ['empty objects and lists', { a: {}, b: [] }, { a: { x: 1 }, b: [] }, 0],
];
for (const [what, expected, got, tolerance] of agree) {
  test(`agree: ${what}`, () => assert.deepEqual(differences(expected, got, tolerance), []));
}

const differ: [string, unknown, unknown, number, string][] = [
  ['a number', 1, 2, 0, 'result: 1, got 2'],
  ['a number beyond the tolerance', { a: 1 }, { a: 1.11 }, 0.1, 'a: 1, got 1.11'],
  ['a number and its text', { a: 1 }, { a: '1' }, 10, 'a: 1, got "1"'],
  ['a missing key', { a: { b: 1 } }, { a: {} }, 0, 'a.b: 1, got nothing'],
  ['a key that only the prototype has', { constructor: 1 }, {}, 0, 'constructor: 1, got nothing'],
  ['a key with a blank', { 'a b': 1 }, { 'a b': 2 }, 0, '["a b"]: 1, got 2'],
  ['a shorter list', { a: [1, 2] }, { a: [1] }, 0, 'a[1]: 2, got nothing'],
  ['a longer list', [1], [1, { b: 2 }], 0, '[1]: nothing, got {"b":2}'],
  ['elements', [1, { b: [3] }], [2, { b: [4] }], 0, '[0]: 1, got 2 / [1].b[0]: 3, got 4'],
  ['a list in place of an object', { a: {} }, { a: [] }, 0, 'a: {}, got []'],
  ['null in place of an object', { a: {} }, { a: null }, 0, 'a: {}, got null'],
  ['null in place of a number', 5, null, 10, 'result: 5, got null'],
  ['nothing at all', { a: 1 }, undefined, 0, 'result: {"a":1}, got nothing'],
];
for (const [what, expected, got, tolerance, said] of differ) {
  test(`differ: ${what}`, () => {
    const found = differences(expected, got, tolerance);
    const words = found.map((each) => `${each.path === '' ? 'result' : each.path}: ${each.expected}, got ${each.got}`);
    assert.equal(words.join(' / '), said);
  });
}
