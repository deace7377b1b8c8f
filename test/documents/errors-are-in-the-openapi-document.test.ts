import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as catalogue from '../../src/lib/errors.ts';
import { loadInterface } from './support/interface.ts';

/** No errors of callers: a start that is refused, and what reads errors. */
const NO_ERRORS = [
  'EXECUTION_ERRORS',
  'ServiceError',
  'isOutOfHandles',
  'messageOf',
  'outcomeOf',
  'startRefused',
  'toError',
];

test('the OpenAPI document lists every error with its code, status and title, and no other', () => {
  const made = Object.entries(catalogue)
    .filter(([name]) => !NO_ERRORS.includes(name))
    .map(([name, make]) => {
      const error: unknown = (make as (...given: unknown[]) => unknown)('x', 'y', ['GET']);
      assert.ok(error instanceof catalogue.ServiceError, name);
      return `${error.code} (${error.status}, ${error.title})`;
    });
  const listed = [...loadInterface().info.description.matchAll(/^- `([a-z-]+)` (\(\d{3}, [^)]+\)): \S/gm)].map(
    ([, code = '', rest = '']) => `${code} ${rest}`,
  );
  assert.deepEqual(listed, [...new Set(made)].sort());
});
