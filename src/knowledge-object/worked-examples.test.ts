import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseWorkedExamples } from './worked-examples.ts';

test('an example has its call and what it must give', () => {
  const { examples, problems } = parseWorkedExamples(`# A comment
- name: All that can be said
  source: A book
  endpoint: score/
  method: POST
  contentType: text/plain
  input: some text
  expect: { a: 1.50, b: [null] }
  tolerance: 0.1
- { name: Short, endpoint: /score, input: {a: 1}, expectError: must be }
- { name: Files, endpoint: /files, method: get, expect: [a.csv] }
`);
  assert.deepEqual(problems, []);
  assert.deepEqual(examples, [
    {
      name: 'All that can be said',
      source: 'A book',
      endpoint: '/score',
      method: 'post',
      contentType: 'text/plain',
      body: 'some text',
      expected: { kind: 'result', value: { a: 1.5, b: [null] } },
      tolerance: 0.1,
      line: 2,
    },
    {
      name: 'Short',
      endpoint: '/score',
      method: 'post',
      contentType: 'application/json',
      body: '{"a":1}',
      expected: { kind: 'error', detail: 'must be' },
      tolerance: 0,
      line: 10,
    },
    {
      name: 'Files',
      endpoint: '/files',
      method: 'get',
      contentType: 'application/json',
      body: undefined,
      expected: { kind: 'result', value: ['a.csv'] },
      tolerance: 0,
      line: 11,
    },
  ]);
});

test('no examples are none', () => assert.deepEqual(parseWorkedExamples('# later\n'), { examples: [], problems: [] }));

const good = '- name: Good\n  endpoint: /a\n  input: 1\n  expect: 2\n';
const wrong: [string, string, string][] = [
  ['no list', 'name: x', '1 must hold a list'],
  ['no YAML', `${good}- name: "x`, '5 worked-examples.yaml is not valid YAML'],
  ['an entry that is text', `${good}- text`, '5 this entry is no example'],
  ['an unknown key', `${good}- name: x\n  endpoint: /a\n  inputs: 1\n  expect: 1`, '7 "inputs" is no key'],
  ['no name', `${good}- endpoint: /a\n  input: 1\n  expect: 1`, '5 this example has no name'],
  ['no endpoint', `${good}- name: x\n  input: 1\n  expect: 1`, '5 this example has no endpoint'],
  ['no input', `${good}- name: x\n  endpoint: /a\n  expect: 1`, '5 this example has no input'],
  ['neither result nor error', `${good}- name: x\n  endpoint: /a\n  input: 1`, '5 an example has either'],
  ['both', `${good}- {name: x, endpoint: /a, input: 1, expect: 1, expectError: x}`, '5 an example has either'],
  ['another method', `${good}- name: x\n  endpoint: /a\n  method: put\n  input: 1\n  expect: 1`, '7 method must be'],
  ['a tolerance of text', `${good}- name: x\n  endpoint: /a\n  input: 1\n  expect: 1\n  tolerance: 1%`, '9 tolerance'],
  ['an empty error', `${good}- name: x\n  endpoint: /a\n  input: 1\n  expectError: ""`, '8 expectError must be a text'],
  [
    'JSON where text is sent',
    `${good}- name: x\n  endpoint: /a\n  contentType: text/plain\n  input: {a: 1}\n  expect: 1`,
    '8 input must be text',
  ],
];
for (const [what, text, said] of wrong) {
  test(`a problem of one example: ${what}`, () => {
    const { examples, problems } = parseWorkedExamples(text);
    assert.ok(examples.length <= 1);
    const words = problems.map(({ line, message }) => `${line ?? ''} ${message}`).join(' / ');
    assert.ok(words.includes(said), words);
    assert.ok(problems.every(({ file }) => file === 'worked-examples.yaml'));
  });
}
