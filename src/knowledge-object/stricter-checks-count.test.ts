import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strictest } from './validation-mode.ts';
import type { ValidationMode } from './validation-mode.ts';

/** What the operator says, what the knowledge object says, and what counts. */
const cases: [ValidationMode | undefined, ValidationMode | undefined, ValidationMode][] = [
  [undefined, undefined, 'off'],
  [undefined, 'off', 'off'],
  [undefined, 'log', 'log'],
  [undefined, 'enforce', 'enforce'],
  ['off', 'enforce', 'off'],
  ['off', undefined, 'off'],
  ['log', undefined, 'log'],
  ['log', 'off', 'log'],
  ['log', 'enforce', 'enforce'],
  ['enforce', 'off', 'enforce'],
  ['enforce', undefined, 'enforce'],
];

for (const [operator, own, counts] of cases)
  test(`where the operator says ${operator ?? 'nothing'} and the knowledge object ${own ?? 'nothing'}, ${counts} counts`, () => {
    assert.equal(strictest(operator, own), counts);
  });
