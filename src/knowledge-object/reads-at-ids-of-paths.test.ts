import assert from 'node:assert/strict';
import { test } from 'node:test';
import { behindFirst, readingsOf, spellingsOf, textsOf } from './places.ts';

const read = (written: string, most = 2): string[] =>
  readingsOf(written, most).map(({ atId, rest }) => `${atId} ${rest}`);

test('what is encoded up to its slash is the @id, else it is as long as it can be', () => {
  assert.deepEqual(read('https%3A%2F%2Fx%2Fy/a/b'), [
    'https://x/y a/b',
    'https%3A%2F%2Fx%2Fy a/b',
    'https%3A%2F%2Fx%2Fy/a b',
  ]);
  assert.deepEqual(read('a/b/c/d'), ['a/b/c d', 'a/b c/d']);
  assert.deepEqual(read('word/e'), ['word e']);
  for (const none of ['', 'word', '/e', 'word/', '/']) assert.deepEqual(read(none), [], none);
});

test('slashes that a proxy merged are put back, an encoded slash between slashes is none, and nothing is decoded twice', () => {
  assert.deepEqual(spellingsOf('https:/x/y'), ['https:/x/y', 'https://x/y']);
  assert.deepEqual(spellingsOf('_:http:/x'), ['_:http:/x', '_:http://x']);
  for (const as of ['https://x', 'ark:/a/b/v1', 'https:/', 'a/b/v1']) assert.deepEqual(spellingsOf(as), [as]);
  assert.deepEqual(textsOf('a%2Fb/c'), ['a%2Fb/c']);
  assert.deepEqual(textsOf('a%252Fb'), ['a%2Fb', 'a%252Fb']);
  assert.deepEqual(textsOf('%zz'), ['%zz']);
});

test('what is behind the first part of a path is taken as it is written', () => {
  assert.equal(behindFirst('/kos/https://x/y/?v=1'), 'https://x/y');
  assert.equal(behindFirst('http://host/%6bos/a'), 'a');
  assert.equal(behindFirst('/kos'), '');
});

test('a path of any length has few readings', () => {
  assert.equal(readingsOf('a/'.repeat(4000) + 'e', 3).length, 0, 'no @id is as long');
  assert.equal(readingsOf('a/'.repeat(900) + 'e', 3).length, 3);
  assert.deepEqual([readingsOf('a/'.repeat(9000), 3), textsOf('a'.repeat(9000))], [[], []]);
});
