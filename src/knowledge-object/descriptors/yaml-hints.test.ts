import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf } from '../../lib/errors.ts';
import { parseYaml } from './yaml-document.ts';

const mistakes: [string, string, RegExp][] = [
  ['a colon in a value', 'info:\n  title: Corrected QT: Bazett', /line 2: .*: put a value that holds ": " in quotes/],
  ['a colon in a value in brackets', '{title: Corrected QT: Bazett}', /line 1: .* a value that holds ": " in quotes$/],
  ['a missing comma', '/a: {post: {engine: node artifact: x}}', /line 1: .*: within .* a comma between the items/],
  ['a missing comma over two lines', 'a: {b: c\n d: e}', /line 1: .* within { } and \[ \] a comma between items$/],
  ['a missing comma in a list', 'a: ["x" "y"]', /line 1: .*, put a comma between items/],
  ['a list in braces', '/a: {\n  - b\n}', /line 2: .*: within { } and \[ \] put a comma/],
  ['a tab', '/a:\n\tpost:', /line 2: Tabs are not allowed as indentation: indent with spaces$/],
  ['a wrong indentation', 'a:\n    b: c\n   d: e', /line 3: .*: indent the keys of one map alike/],
  ['a key that is indented too far', 'a: b\n  c: d', /line 1: .* indent the keys of one map alike$/],
  ['no space behind a colon', 'a:b\nc: d', /line 1: .*: write "key: value" with a space behind the colon/],
  ['an open quote', "a: 'b\nc: d", /line 2: .* close each quote/],
  ['an apostrophe', "a: 'Chagas' disease'", /line 1: .* put the text in quotes$/],
  ['a sign of comparison', 'a: >= 90', /line 1: .* put the text in quotes$/],
  ['an at sign', 'a: @b', /line 1: .*: put the value in quotes$/],
  ['an asterisk', 'a: *b', /line 1: .*: put a value that begins with \* in quotes$/],
  ['a backslash', 'a: "\\d"', /line 1: .*: put the text in single quotes/],
];
for (const [what, text, said] of mistakes) {
  test(`the remedy follows the message of the parser: ${what}`, () => {
    assert.throws(
      () => parseYaml(text, 'a.yaml'),
      (thrown) => said.test(messageOf(thrown)) || assert.fail(messageOf(thrown)),
    );
  });
}
