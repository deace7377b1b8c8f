import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOf, problem, sorted, warning } from './findings.ts';

const sentences: [string, string, number, string][] = [
  ['deployment.yaml line 2: /a names no engine', 'deployment.yaml', 2, '/a names no engine'],
  ['/a (deployment.yaml line 2) is not there', 'deployment.yaml', 2, '/a is not there'],
  ['SyntaxError: x (src/a.js line 3, column 5)', 'src/a.js', 3, 'SyntaxError: x'],
  ['SyntaxError: x (src/a.js:3)', 'src/a.js', 3, 'SyntaxError: x'],
  ['SyntaxError: x (src/a.js:3:12)', 'src/a.js', 3, 'SyntaxError: x'],
  ['SyntaxError: x (src/a.py, line 3)', 'src/a.py', 3, 'SyntaxError: x'],
  ['a.yaml is not valid YAML: line 4: tabs', 'a.yaml', 4, 'not valid YAML: tabs'],
  ['metadata.json is not valid JSON: line 4, column 1: x', 'metadata.json', 4, 'not valid JSON: x'],
  ['b.js, named by a.yaml line 4, is not there', 'a.yaml', 4, 'b.js is not there'],
  ['a.yaml line 4 of another file', 'b.yaml', 4, 'a.yaml line 4 of another file'],
];
for (const [sentence, file, line, rest] of sentences) {
  test(`the place stands once: ${sentence}`, () => assert.equal(problem(file, line, sentence).message, rest));
}

test('the place in a sentence is that of a file of the package', () => {
  const files = new Map([['src/a.js', 0]]);
  assert.deepEqual(placeOf('TypeError: x (src/a.js line 3, column 5)', files), { file: 'src/a.js', line: 3 });
  assert.deepEqual(placeOf('Error: Cannot find x:1 (src/a.js:3:9)', files), { file: 'src/a.js', line: 3 });
  assert.deepEqual(placeOf('SyntaxError: x (src/a.js, line 3)', files), { file: 'src/a.js', line: 3 });
  assert.deepEqual(placeOf('File "src/a.js", line 7, in f', files), { file: 'src/a.js', line: 7 });
  assert.deepEqual(placeOf('in src/b.js line 1 and src/a.js line 2', files), { file: 'src/a.js', line: 2 });
  assert.equal(placeOf('TypeError: x (src/b.js line 3)', files), undefined);
});

test('problems stand before warnings, by file and line, each once', () => {
  const all = [
    warning('a', 1, 'w'),
    problem('b', 10, 'x'),
    problem('b', 9, 'x'),
    problem('a', 2, 'x'),
    problem('a', 2, 'x'),
  ];
  assert.deepEqual(
    sorted(all).map(({ severity, file, line }) => `${severity} ${file}:${line ?? ''}`),
    ['problem a:2', 'problem b:9', 'problem b:10', 'warning a:1'],
  );
});
