import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutInputs } from './failed-calls.ts';

const patient = {
  name: 'Bob Smith',
  age: 173,
  weight: -4.5,
  ids: ['MRN-00017'],
  note: { text: 'has asthma' },
  sex: 'f',
};
const masked = (message: string): string => withoutInputs(message, JSON.stringify(patient), true);

test('values of the input are left out, wherever the message has them', () => {
  for (const [message, expected] of [
    ['Error: no patient Bob Smith of age 173', 'Error: no patient … of age …'],
    ["KeyError: 'MRN-00017'", "KeyError: '…'"],
    ['ValueError: weight -4.5 is negative', 'ValueError: weight … is negative'],
    [
      'SyntaxError: Unexpected token \'h\', "has asthma" is not valid JSON',
      'SyntaxError: Unexpected token \'h\', "…" is not valid JSON',
    ],
    [
      'SyntaxError: Unexpected end, "...{"text":"has ast"... is not valid JSON',
      'SyntaxError: Unexpected end, "...{"text":"…"... is not valid JSON',
    ],
  ])
    assert.equal(masked(message ?? ''), expected);
});

test('what is no value stays as it is', () => {
  for (const message of [
    "TypeError: Cannot read properties of undefined (reading 'height')",
    "TypeError: Cannot read properties of undefined (reading 'weight')",
    'ReferenceError: ageing is not defined (1730 of 24)',
    'the code ran longer than 5 s (--execution-timeout)',
  ])
    assert.equal(masked(`Code execution error: ${message}`), message);
});

test('of an input that is a text, or large, as much is left out as may be of it', () => {
  assert.equal(withoutInputs('Error: no asthma in this', 'a case of asthma', false), 'Error: no … in this');
  assert.equal(withoutInputs('Error: no asthma', 'x'.repeat(70_000), false), 'Error: …');
  assert.equal(withoutInputs('asthma', 'x'.repeat(70_000), true), '…');
});

/** Of processor time; hundreds of times what it takes, and a small part of what it takes where it is not linear. */
const MOST_MICROSECONDS = 5_000_000;

test('a message is one line of bounded length, and takes no time', () => {
  assert.equal(masked('Error: one\ntwo'), 'Error: one');
  const worst = [`"`.repeat(1e6), `'a`.repeat(5e5), 'Error'.repeat(2e5), `${'9 '.repeat(5e5)}`];
  const input = JSON.stringify(Array.from({ length: 9000 }, (_, i) => i));
  for (const message of worst) {
    const began = process.cpuUsage();
    assert.ok(withoutInputs(message, input, true).length <= 300);
    withoutInputs(message, input, false);
    assert.ok(process.cpuUsage(began).user < MOST_MICROSECONDS);
  }
});
