import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesEtag, tagsOf } from './headers.ts';

test('the tags of a header are read one by one, and no header is no condition', () => {
  assert.deepEqual(tagsOf('"a", W/"b" ,,"c"'), ['"a"', 'W/"b"', '"c"']);
  assert.deepEqual(tagsOf('*'), ['*']);
  assert.deepEqual(tagsOf(''), []);
  assert.equal(tagsOf(undefined), undefined);
});

test('a tag matches itself, weak or strong, and the star matches any', () => {
  for (const header of ['"a"', 'W/"a"', '"x", "a"', '*', ' "a" ']) assert.ok(matchesEtag(header, '"a"'), header);
  for (const header of [undefined, '', 'a', '"A"', '"ab"', 'w/"a"', '"x","y"']) {
    assert.ok(!matchesEtag(header, '"a"'), header);
  }
});
