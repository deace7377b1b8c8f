import assert from 'node:assert/strict';
import { STATUS_CODES } from 'node:http';
import { test } from 'node:test';
import * as catalogue from '../../src/lib/errors.ts';
import { codesIn, tableOf } from './support/markdown.ts';
import { read } from './support/project.ts';

/** What each factory of the catalogue makes; `startRefused` never reaches a caller. */
function errorsOfTheCatalogue(): catalogue.ServiceError[] {
  const factories = Object.entries(catalogue).filter(
    ([name]) =>
      !['EXECUTION_ERRORS', 'ServiceError', 'messageOf', 'outcomeOf', 'startRefused', 'toError'].includes(name),
  );
  return factories.map(([name, make]) => {
    const made: unknown = (make as (...given: unknown[]) => unknown)('x', 'y', ['GET']);
    assert.ok(made instanceof catalogue.ServiceError, `${name} makes no ServiceError`);
    return made;
  });
}

test('the table of errors in docs/interface.md is the catalogue of the service', () => {
  const shown = tableOf(read('docs/interface.md'), 'Code').map((row) => ({
    code: codesIn(row['Code'] ?? '')[0],
    status: row['Status'],
    title: row['Title'],
  }));
  const real = errorsOfTheCatalogue().map(({ code, status, title }) => ({ code, status: String(status), title }));
  assert.deepEqual(new Set(shown), new Set(real));
  assert.equal(shown.length, real.length);
  for (const { status } of shown) assert.ok(STATUS_CODES[String(status)], status);
});
