import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isEndpointPart, isKoPart, koKey, parseArk, parseKoId } from './id.ts';

const part = fc.stringMatching(/^[A-Za-z0-9.]{1,64}$/).filter((text) => text !== '.' && text !== '..');
const koId = fc.record({ naan: part, name: part, version: part }, { noNullPrototype: true });

test('every id is read back from its key, with or without a trailing slash', () => {
  fc.assert(
    fc.property(koId, (id) => {
      assert.deepEqual(parseKoId(koKey(id)), id);
      assert.deepEqual(parseKoId(`${koKey(id)}/`), id);
      assert.deepEqual(parseArk(`ark:/${koKey(id)}`), id);
      assert.deepEqual(parseArk(`ark:${koKey(id)}`), id);
    }),
  );
});

test('what is read as an id is exactly its key, whatever the text', () => {
  const soup = fc.string({
    unit: fc.constantFrom('a', 'B', '7', '.', '/', '-', '%', ':', ' ', '\n', 'é', '\\'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(
      fc.oneof(
        soup,
        fc.string(),
        fc.array(soup, { maxLength: 5 }).map((parts) => parts.join('/')),
      ),
      (text) => {
        const id = parseKoId(text);
        if (id === undefined) return;
        assert.equal(koKey(id), text.replace(/\/$/, ''));
        assert.ok([id.naan, id.name, id.version].every(isKoPart));
      },
    ),
    { numRuns: 500 },
  );
});

const refusedParts = ['', '.', '..', 'a b', 'a/b', 'a-b', 'a_b', 'a%2e', 'ä', 'a\n', 'x'.repeat(65), '\u0131', 'a\0'];
for (const text of refusedParts) {
  test(`${JSON.stringify(text).slice(0, 20)} is no part of an id`, () => {
    assert.equal(isKoPart(text), false);
    assert.equal(parseKoId(`${text}/b/c`), undefined);
    assert.equal(parseKoId(`a/b/${text}`), undefined);
  });
}

test('an endpoint part may also hold _ ~ and -', () => {
  assert.ok(isEndpointPart('a-b_c~d.e'));
  for (const text of ['', '.', '..', 'a b', 'a/b', '{id}', 'x'.repeat(65)]) assert.equal(isEndpointPart(text), false);
});

test('an ark of fewer or more parts is none', () => {
  for (const text of ['ark:/a/b', 'ark:/a/b/c/d', 'ark://a/b/c', 'a/b/c', 'ARK:/a/b/c', 'ark:']) {
    assert.equal(parseArk(text), undefined, text);
  }
});
