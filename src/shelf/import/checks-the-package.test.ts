import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../lib/errors.ts';
import { koFiles, type Files, type KoSpec } from '../../../test/archives/ko.ts';
import { checkPackage, type CheckedPackage } from './check-package.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../archive/archive.ts';

function check(files: Files): Promise<CheckedPackage> {
  const sizes = Object.entries(files).map(([path, data]) => [path, { path, size: Buffer.byteLength(data) }] as const);
  const read = (path: string): Promise<Buffer> => Promise.resolve(Buffer.from(files[path] ?? assert.fail(path)));
  return checkPackage(read, new Map(sizes), DEFAULT_PACKAGE_LIMITS);
}

test('a package gives its metadata and descriptors', async () => {
  const { metadata, services } = await check(koFiles({ id: 'a/b/v1.0', apiVersion: '1.10' }));
  const [{ deployment, service } = assert.fail()] = services;
  assert.deepEqual(metadata.id, { naan: 'a', name: 'b', version: 'v1.0' });
  assert.deepEqual([...deployment.endpoints.keys()], ['/score']);
  assert.equal(service.apiVersion, '1.10');
});

const accepted: [string, KoSpec][] = [
  ['an endpoint that cannot run', { deployment: '/score: {put: {}}\n/b c: {post: {artifact: src/index.js}}' }],
  ['no endpoint', { deployment: '{}' }],
  ['ids that disagree', { metadata: { identifier: 'ark:/other/one/v9', version: 'v9' } }],
  ['a service descriptor of another KO', { service: 'servers: [{url: /x/y}]' }],
  ['an hasPayload that names no file', { metadata: { hasPayload: 'none.js' } }],
  ['an hasPayload that is a list', { metadata: { hasPayload: ['a', 'b'] } }],
  ['no hasPayload', { metadata: { hasPayload: undefined } }],
  [
    'bytes in a descriptor that are not UTF-8',
    { files: { 'service.yaml': Buffer.from('info: {title: caf\xe9}', 'latin1') } },
  ],
  ['a descriptor of 5 MB', { files: { 'service.yaml': `info: {}\n#${'x'.repeat(5 * 2 ** 20 - 10)}` } }],
  ['an artifact with ./', { deployment: '/score: {post: {artifact: [./src/index.js], engine: javascript}}' }],
];

for (const [what, spec] of accepted) {
  test(`accepted: ${what}`, async () => {
    await check(koFiles(spec));
  });
}

const refused: [string, KoSpec, RegExp][] = [
  [
    'no service descriptor',
    { files: { 'service.yaml': undefined } },
    /^service\.yaml, named by hasServiceSpecification in metadata\.json, is not in the package: add it or/,
  ],
  [
    'no deployment descriptor',
    { files: { 'deployment.yaml': undefined } },
    /^deployment\.yaml, named by hasDeploymentSpecification/,
  ],
  [
    'a descriptor in another place',
    { metadata: { hasServiceSpecification: '../service.yaml' } },
    /^\.\.\/service\.yaml, named by/,
  ],
  ['a folder as descriptor', { metadata: { hasServiceSpecification: 'src' } }, /^src, named by/],
  [
    'an unnamed service descriptor',
    { metadata: { hasServiceSpecification: undefined } },
    /^metadata\.json has no hasServiceSpecification: it must/,
  ],
  [
    'an unnamed deployment descriptor',
    { metadata: { hasDeploymentSpecification: null } },
    /has no hasDeploymentSpecification/,
  ],
  ['a service descriptor that is not YAML', { service: 'a: [' }, /^service\.yaml is not valid YAML: line 1/],
  ['a service descriptor that is a list', { service: '- a' }, /^service\.yaml must hold a map/],
  ['an empty deployment descriptor', { deployment: '' }, /^deployment\.yaml must hold a map .* empty$/],
  [
    'a descriptor that is too large',
    { service: 'x'.repeat(5 * 2 ** 20 + 1) },
    /^service\.yaml has 5.1 MB; it may have 5 MB$/,
  ],
  [
    'a missing artifact',
    { files: { 'src/index.js': undefined } },
    /^src\/index\.js, named by deployment\.yaml line 2, is not in the package: add it/,
  ],
  [
    'a missing artifact of a list',
    { deployment: '/a: {get: {artifact: [src/index.js, data/x.csv], engine: resource}}' },
    /^data\/x\.csv, named by deployment\.yaml line 1,/,
  ],
  ['a folder as artifact', { deployment: '/a: {get: {artifact: src/, engine: resource}}' }, /^src\/, named by/],
  [
    'an artifact of another case',
    { deployment: '/a: {get: {artifact: SRC/index.js, engine: resource}}' },
    /^SRC\/index\.js, named by/,
  ],
  [
    'several faults',
    { service: '- a', files: { 'src/index.js': undefined } },
    /^service\.yaml must hold a map.*; src\/index\.js, named by/,
  ],
  [
    'hundreds of missing artifacts',
    { deployment: `/a: {get: {artifact: [${Array.from({ length: 300 }, (_, i) => `f${i}`).join()}], engine: x}}` },
    /^f0, .*; f4, [^;]*; 295 more$/,
  ],
  [
    'metadata that is not UTF-8',
    { files: { 'metadata.json': Buffer.from('{"@id": "a/b/c", "title": "caf\xe9"}', 'latin1') } },
    /^metadata\.json is not UTF-8 text: save it as UTF-8$/,
  ],
];

for (const [what, spec, reason] of refused) {
  test(`refused: ${what}`, async () => {
    await assert.rejects(check(koFiles(spec)), (thrown) => {
      assert.ok(thrown instanceof ServiceError && thrown.status === 400, String(thrown));
      assert.match(thrown.message, reason);
      return true;
    });
  });
}
