import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../lib/errors.ts';
import { parseMetadata } from './metadata.ts';

const minimal = { '@id': 'naan/name/v1.0' };

test('the known fields are read and the text is kept as it is', () => {
  const text = `{ "@id": "naan/name/v1.0",\n "identifier": "ark:/naan/name/v1.0", "version": "v1.0", "title": "T",
    "description": "D", "hasServiceSpecification": "service.yaml", "hasDeploymentSpecification": "./d/deployment.yaml",
    "unknown": 1.50, "__proto__": {"x": 1} }\n`;
  assert.deepEqual(parseMetadata(text), {
    id: { naan: 'naan', name: 'name', version: 'v1.0' },
    atId: 'naan/name/v1.0',
    generation: 1,
    identifier: 'ark:/naan/name/v1.0',
    version: 'v1.0',
    title: 'T',
    description: 'D',
    claims: { identifiers: ['ark:/naan/name/v1.0'], version: 'v1.0', addresses: [] },
    services: [
      {
        specification: 'service.yaml',
        implementations: [{ folder: '', deployment: 'd/deployment.yaml', isForActivator: true }],
        fields: { specification: 'hasServiceSpecification', deployment: 'hasDeploymentSpecification' },
      },
    ],
    hasDefaults: false,
    text,
  });
});

test('a byte order mark and a trailing slash of the @id do no harm', () => {
  const { id, text } = parseMetadata('\uFEFF{"@id": "a/b/c/"}');
  assert.deepEqual(id, { naan: 'a', name: 'b', version: 'c' });
  assert.equal(text, '{"@id": "a/b/c/"}');
});

test('a numeric version is taken by its source', () => {
  const version = (more: string): unknown => parseMetadata(`{"@id": "a/b/1.10", ${more}}`).version;
  assert.equal(version('"version": 1.10'), '1.10');
  assert.equal(version('"version": 1.10, "hasPart": {"version": 2.0}'), '1.10');
  assert.equal(version('"version": "1.10"'), '1.10');
  assert.equal(version('"hasPart": {"version": 2.0}'), undefined);
});

test('fields that only people read may be of any type', () => {
  const { title, description } = parseMetadata(JSON.stringify({ ...minimal, title: ['a'], description: { en: 'b' } }));
  assert.deepEqual([title, description], [undefined, undefined]);
});

const refused: [string, unknown, RegExp][] = [
  ['an empty file', '', /empty/],
  ['a comma too much', '{\n "@id": "a/b/c",\n}', /line 3, column 1: Expected double-quoted property name$/],
  ['a cut file', '{"@id": "a/b', /metadata\.json is not valid JSON: line 1, column 13: Unterminated string/],
  ['a file that ends in a value', '{"@id": ', /Unexpected end of JSON input/],
  [
    'an excerpt of what is there',
    '{"@id": secret}',
    /^metadata\.json is not valid JSON: line 1, column 9: Unexpected token 's'$/,
  ],
  ['an array', [], /must hold a JSON object/],
  ['a string', 'a/b/c', /must hold a JSON object/],
  ['null', null, /must hold a JSON object/],
  ['no @id', { identifier: 'ark:/a/b/c' }, /has no @id: add/],
  ['an @id in the prototype', { ['__proto__']: minimal }, /has no @id/],
  ['an @id of another type', { '@id': 5 }, /@id in metadata\.json is 5; it must be/],
  ['an @id of two parts', { '@id': 'a/b' }, /must be "<naan>\/<name>\/<version>"/],
  ['an @id that climbs', { '@id': '../../etc' }, /must be/],
  ['an @id with dots', { '@id': 'a/../c' }, /must be/],
  ['an @id with a line break', { '@id': 'a/b/c\n' }, /is "a\/b\/c\\n"; it must be/],
  ['an @id that is long', { '@id': 'x'.repeat(10_000) }, /is "x{99}…; it must be/],
  ['a naan of the service', { '@id': 'kos/b/c' }, /naan "kos", which is a path of this service/],
  ['an identifier of another type', { ...minimal, identifier: {} }, /identifier in metadata\.json must be a string/],
  ['a version of another type', { ...minimal, version: ['v1.0'] }, /version in metadata\.json must be a string/],
  ['a list of service descriptors', { ...minimal, hasServiceSpecification: [] }, /hasServiceSpecification .* a string/],
  ['an empty path', { ...minimal, hasDeploymentSpecification: './' }, /hasDeploymentSpecification .* is empty/],
];

for (const [what, value, reason] of refused) {
  test(`${what} is refused`, () => {
    const text = typeof value === 'string' && value !== 'a/b/c' ? value : JSON.stringify(value);
    assert.throws(
      () => parseMetadata(text),
      (thrown) => thrown instanceof ServiceError && thrown.status === 400 && reason.test(thrown.message),
    );
  });
}
