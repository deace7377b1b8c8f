/** The two forms of an error body, asserted to the letter. */
import assert from 'node:assert/strict';
import { STATUS_CODES } from 'node:http';
import { tmpdir } from 'node:os';
import type { Answer } from './client.ts';
import { PROJECT } from './service.ts';

const DAYS = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const MONTHS = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
/** `Wed Feb 24 16:18:26 EST 2021`. */
export const TIME = new RegExp(`^${DAYS} ${MONTHS} \\d{2} \\d{2}:\\d{2}:\\d{2} [A-Z][A-Za-z0-9:+-]* \\d{4}$`);

type Expected = string | RegExp;

/** Request error: keys Status, Instance, Title, Time, Detail. */
export function assertRequestError(
  answer: Answer,
  expected: { status: number; path: string; title: string; detail: Expected },
): void {
  assert.equal(answer.status, expected.status, answer.text);
  assertJsonWithoutSecrets(answer);
  assertCode(answer);
  const body = answer.object;
  assert.deepEqual(Object.keys(body), ['Status', 'Instance', 'Title', 'Time', 'Detail']);
  assert.equal(body['Status'], `${expected.status} ${STATUS_CODES[expected.status] ?? ''}`);
  assert.equal(body['Instance'], `uri=${expected.path}`);
  assert.equal(body['Title'], expected.title);
  assert.match(String(body['Time']), TIME);
  assertText(body['Detail'], expected.detail);
}

/** Shelf error: keys Status, Request, Error, Time. */
export function assertShelfError(answer: Answer, expected: { status: number; path: string; error: Expected }): void {
  assert.equal(answer.status, expected.status, answer.text);
  assertJsonWithoutSecrets(answer);
  assertCode(answer);
  const body = answer.object;
  assert.deepEqual(Object.keys(body), ['Status', 'Request', 'Error', 'Time']);
  assert.equal(body['Status'], `${expected.status} ${upperReason(expected.status)}`);
  assert.equal(body['Request'], `uri=${expected.path}`);
  assertText(body['Error'], expected.error);
  assert.match(String(body['Time']), TIME);
}

/** The header by which programs tell errors apart. */
const assertCode = ({ headers }: Answer): void => assert.match(String(headers['kgrid-error']), /^[a-z]+(-[a-z]+)*$/);

const upperReason = (status: number): string =>
  (STATUS_CODES[status] ?? '')
    .toUpperCase()
    .replaceAll("'", '')
    .replaceAll(/[^A-Z]+/g, '_');

function assertText(actual: unknown, expected: Expected): void {
  if (typeof expected === 'string') assert.equal(actual, expected);
  else assert.match(String(actual), expected);
}

function assertJsonWithoutSecrets(answer: Answer): void {
  assert.match(String(answer.headers['content-type']), /^application\/json(;|$)/);
  assert.doesNotMatch(answer.text, /\\n\s+at /, 'a stack');
  for (const place of [PROJECT, tmpdir(), 'node_modules', 'node:internal']) {
    assert.ok(!answer.text.includes(place), `the body names ${place}: ${answer.text}`);
  }
}
