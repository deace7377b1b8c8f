import assert from 'node:assert/strict';
import { test } from 'node:test';
import { depthOf, numbersIn, pointerOf } from '../execution/exact-numbers.ts';

const found = (text: string): [string, string][] =>
  [...numbersIn(text, () => true)].map(({ literal, path }) => [pointerOf(path), literal]);

test('each number is found with what leads to it, and none in a text', () => {
  assert.deepEqual(found('-1.50e+3'), [['', '-1.50e+3']]);
  assert.deepEqual(found(' { "a" : [ 1 , {"b\\"" : 2, "c":{} , "d": [[3]]}, "4\\\\", 5 ], "~/": 6, "7": "8" } '), [
    ['/a/0', '1'],
    ['/a/1/b"', '2'],
    ['/a/1/d/0/0', '3'],
    ['/a/3', '5'],
    ['/~0~1', '6'],
  ]);
  for (const text of ['', '"', '"\\', '[', '}', ':,', '-', '[1', '{"a":1']) assert.ok(found(text).length <= 1, text);
});

test('the depth is that of arrays and objects, not of brackets in texts', () => {
  assert.equal(depthOf('1'), 0);
  assert.equal(depthOf('[{"a":["[[[[",{}]},[]]'), 4);
});
