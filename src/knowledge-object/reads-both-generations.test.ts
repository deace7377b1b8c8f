import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMetadata } from './metadata.ts';
import type { KoMetadata } from './metadata.ts';
import { ServiceError } from '../lib/errors.ts';

const read = (fields: Readonly<Record<string, unknown>>): KoMetadata =>
  parseMetadata(JSON.stringify({ '@id': 'bmi', ...fields }));

const marks: Record<string, unknown>[] = [
  { 'koio:kgrid': '2' },
  { kgrid: '2' },
  { 'dc:title': 'T' },
  { 'dc:anything': 1 },
  { 'http://purl.org/dc/elements/1.1/title': 'T' },
  { 'https://purl.org/dc/terms/title': 'T' },
  { hasService: [] },
  { 'koio:hasService': { '@type': 'API' } },
  { 'http://kgrid.org/koio#hasService': [] },
  { 'koio:hasKnowledge': {} },
  { hasKnowledge: {} },
  { '@context': 'https://kgrid.org/koio/2.1/context.jsonld' },
  { '@context': 'https://kgrid.org/koio/2.0/context' },
  { '@context': ['https://other.example/context', { x: 'y' }, 'http://kgrid.org/koio/2/context.jsonld'] },
];
for (const mark of marks) {
  test(`of the second generation: ${JSON.stringify(mark)}`, () => {
    assert.equal(read(mark).generation, 2);
  });
}

const unmarked: Record<string, unknown>[] = [
  {},
  { '@context': ['http://kgrid.org/koio/contexts/knowledgeobject.jsonld'] },
  { '@context': 'https://example.org/koio/1.0/context' },
  { title: 'T', 'x:title': 'T', kgridless: '2' },
];
for (const fields of unmarked) {
  test(`of the first generation: ${JSON.stringify(fields)}`, () => {
    assert.equal(read({ '@id': 'a/b/v1.0', ...fields }).generation, 1);
    assert.throws(() => read(fields), /must be "<naan>\/<name>\/<version>"/, 'its @id has three parts');
  });
}

const DC = 'http://purl.org/dc/elements/1.1/';
const titles: [fields: Record<string, unknown>, title: string | undefined][] = [
  [{ 'dc:title': 'T' }, 'T'],
  [{ title: 'T' }, 'T'],
  [{ 'dcterms:title': 'T' }, 'T'],
  [{ 'dct:title': 'T' }, 'T'],
  [{ [`${DC}title`]: 'T' }, 'T'],
  [{ 'http://purl.org/dc/terms/title': [{ '@value': 'T', '@language': 'en' }] }, 'T'],
  [{ 'dc:title': { '@value': 'T' } }, 'T'],
  [{ 'dc:title': ['T', 'U'] }, 'T'],
  [{ 'dc:title': { '@set': ['T'] } }, 'T'],
  [{ 'dc:title': { '@list': [{ '@value': 'T' }] } }, 'T'],
  [{ 'dc:title': 'T', title: 'U' }, 'T'],
  [{ 'dc:title': null, title: 'T' }, 'T'],
  [{ '@context': { name: 'dc:title' }, name: 'T' }, 'T'],
  [{ '@context': [{ name: { '@id': `${DC}title` } }], name: 'T' }, 'T'],
  [{ '@context': { purl: DC }, 'purl:title': 'T' }, 'T'],
  [{ '@context': { title: 'https://example.org/heading' }, title: 'T' }, 'T'],
  [{ 'dc:title': { en: 'T' } }, undefined],
  [{ 'example:title': 'T' }, undefined],
];
for (const [fields, title] of titles) {
  test(`a title: ${JSON.stringify(fields)}`, () => {
    assert.equal(read({ hasService: [], ...fields }).title, title);
  });
}

test('a @context that is unknown or that makes no sense is ignored', () => {
  for (const context of ['urn:x', 7, null, [[], 1, { a: { b: 1 } }], { '@vocab': 'urn:x', a: 'a', b: 'a:b', c: 'c:d' }])
    assert.equal(read({ 'dc:title': 'T', 'b:x': 1, 'c:y': 1, a: 1, '@context': context }).title, 'T');
});

const versions: [fields: Record<string, unknown>, version: string | undefined, place: string][] = [
  [{ 'dc:version': 'v1.2' }, 'v1.2', 'kgrid/bmi/v1.2'],
  [{ version: 'v1.2' }, 'v1.2', 'kgrid/bmi/v1.2'],
  [{ 'dc:version': 'v2.0', version: 'v1.0' }, 'v2.0', 'kgrid/bmi/v2.0'],
  [{ 'koio:version': 'v3' }, 'v3', 'kgrid/bmi/v3'],
  [{}, undefined, 'kgrid/bmi/v1.0'],
  [{ '@id': 'a/b/v1.0', 'dc:version': 'v2.0' }, 'v2.0', 'a/b/v1.0'],
];
for (const [fields, version, place] of versions) {
  test(`a version: ${JSON.stringify(fields)}`, () => {
    const { version: found, id } = read({ hasService: [], ...fields });
    assert.equal(found, version);
    assert.equal(`${id.naan}/${id.name}/${id.version}`, place);
  });
}

test('a version that is a number is taken by its source', () => {
  const { version, id } = parseMetadata('{"@id": "bmi", "dc:version": 1.10}');
  assert.deepEqual([version, id.version], ['1.10', '1.10']);
});

test('identifier and version must agree only where they have the form of the first generation', () => {
  const claims = (fields: Record<string, unknown>): unknown => {
    const { identifiers, version } = read({ hasService: [], ...fields }).claims;
    return [identifiers, version];
  };
  const atId = { '@id': '99999/fk4/v1.0' };
  assert.deepEqual(claims({ ...atId, 'dc:identifier': 'ark:/99999/fk4/v1.0', 'dc:version': 'v1.0' }), [
    ['ark:/99999/fk4/v1.0'],
    'v1.0',
  ]);
  assert.deepEqual(claims({ ...atId, 'dc:identifier': ['ark:StatinUse', 'ark:99999/fk4/v1.0'] }), [
    ['ark:99999/fk4/v1.0'],
    undefined,
  ]);
  assert.deepEqual(claims({ ...atId, 'dc:identifier': 'ark:StatinUse', 'dc:version': '1.0' }), [[], undefined]);
  assert.deepEqual(claims({ '@id': '99999/fk4/1.0', 'dc:version': 'v1.0' }), [[], '1.0']);
  assert.deepEqual(claims({ '@id': '99999/fk4/1.0', 'dc:version': 'v2.0' }), [[], 'v2.0']);
  assert.deepEqual(claims({ 'dc:identifier': 'ark:/99999/fk4/v1.0', 'dc:version': 'v7' }), [[], undefined]);
  assert.equal(read({ 'dc:identifier': ['ark:StatinUse', 'x'] }).identifier, 'ark:StatinUse');
});

test('the address of a service may be the @id', () => {
  const addresses = (atId: string): unknown => read({ '@id': atId, hasService: [] }).claims.addresses;
  assert.deepEqual(addresses('bmi/'), ['/endpoints/bmi', '/bmi']);
  assert.deepEqual(addresses('_:bmi'), ['/endpoints/bmi', '/bmi', '/endpoints/_:bmi', '/_:bmi']);
  assert.deepEqual(addresses('ark:/a/b/v1.0'), [
    '/endpoints/a/b/v1.0',
    '/a/b/v1.0',
    '/endpoints/ark:/a/b/v1.0',
    '/ark:/a/b/v1.0',
  ]);
  assert.deepEqual(read({ '@id': 'a/b/v1.0' }).claims.addresses, []);
});

const refused: [fields: Record<string, unknown>, reason: RegExp][] = [
  [{ '@id': undefined }, /has no @id/],
  [{ '@id': undefined, '@graph': [{ '@id': 'bmi' }] }, /has no @id: add .*; what stands in @graph is not read$/],
  [{ '@id': '' }, /^@id in metadata\.json is empty/],
  [{ '@id': 5 }, /^@id in metadata\.json is 5; it must be a text$/],
  [{ '@id': ['a'] }, /^@id in metadata\.json is \["a"\]; it must be a text$/],
  [{ '@id': 'a/b/^1.0' }, /^@id in metadata\.json is "a\/b\/\^1\.0", a range of versions: name one version$/],
  [{ '@id': 'actuator/b/v1' }, /naan "actuator"/],
];
for (const [fields, reason] of refused) {
  test(`refused: ${JSON.stringify(fields)}`, () => {
    assert.throws(
      () => read({ 'dc:title': 'T', ...fields }),
      (thrown) => thrown instanceof ServiceError && thrown.status === 400 && reason.test(thrown.message),
    );
  });
}
