import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf } from '../lib/errors.ts';
import { lineOfField, placeOfSyntaxError } from './metadata-text.ts';

const lines = ['{', '  "@id": "naan/name/v1.0",', '  "title": "A title",', '  "version": "v1.0"', '}'];
const broken: [string, string, string, string][] = [
  ['a comma is missing', 'v1.0",', 'v1.0"', '3:3'],
  ['a comma too much', '"v1.0"\n', '"v1.0",\n', '5:1'],
  ['a value without quotes', '"A title"', 'A title', '3:12'],
  ['single quotes', '"A title"', "'A title'", '3:12'],
  ['typographic quotes', '"A title"', '“A title”', '3:12'],
  ['a key without quotes', '"title"', 'title', '3:3'],
  ['a line break in a string', 'A title', 'A\ntitle', '3:14'],
  ['an open string at the end', '"v1.0"\n}', '"v1.0', '4:19'],
  ['a missing brace at the end', '\n}', '', '4:20'],
  ['a value that is missing', '"A title"', '', '3:12'],
  ['something after the end', '\n}', '\n}}', '5:2'],
];
for (const [what, from, to, place] of broken) {
  test(`the place of a syntax error: ${what}`, () => {
    const text = lines.join('\n').replace(from, to);
    const words = wordsOf(text);
    const found = placeOfSyntaxError(text, words);
    assert.equal(`${found?.line}:${found?.column}`, place, words);
  });
}

function wordsOf(text: string): string {
  try {
    JSON.parse(text);
  } catch (thrown) {
    return messageOf(thrown);
  }
  return assert.fail(`this is JSON: ${text}`);
}

test('the line of a field is that of the outermost object, the last of equal ones', () => {
  const text = `{ "a": {\n"b": "b\\":",\n"c": ["b"]},\n"b"\n: 1,\n"\\u0062": "c: "}`;
  assert.equal(lineOfField(text, 'a'), 1);
  assert.equal(lineOfField(text, 'b'), 6);
  assert.equal(lineOfField(text, 'c'), undefined);
});

const short: [string, string][] = [
  ['A', '1:1'],
  ['[1,]', '1:4'],
  ['{"a": A}', '1:7'],
  ['{\n"a": }', '2:6'],
  ['{"a": tru}', '1:10'],
  ['{"a": 1}x', '1:9'],
  ['{"title": \'A\'}', '1:11'],
  ['{"a": 1, "b": 2, "c": A}', '1:23'],
];
for (const [text, place] of short) {
  test(`the place of a syntax error in a short text: ${JSON.stringify(text)}`, () => {
    const words = wordsOf(text);
    const found = placeOfSyntaxError(text, words);
    assert.equal(`${found?.line}:${found?.column}`, place, words);
  });
}
