import assert from 'node:assert/strict';
import { test } from 'node:test';
import { koFiles, type Files } from '../../../test/archives/ko.ts';
import { inspectPackage } from './check-package.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../archive/archive.ts';

async function placesOf(files: Files): Promise<string[]> {
  const sizes = Object.entries(files).map(([path, data]) => [path, { path, size: Buffer.byteLength(data) }] as const);
  const read = (path: string): Promise<Buffer> => Promise.resolve(Buffer.from(files[path] ?? ''));
  const { problems } = await inspectPackage(read, new Map(sizes), DEFAULT_PACKAGE_LIMITS);
  return problems.map(({ file, line, message }) => `${file}:${line ?? ''} ${message.slice(0, 60)}`);
}

test('every problem of the metadata and of both descriptors has its place', async () => {
  const metadata = [
    '{',
    '  "@id": "no-id",',
    '  "version": [],',
    '  "hasServiceSpecification": "service.yaml",',
    '  "hasDeploymentSpecification": "deployment.yaml"',
    '}',
  ];
  const files = koFiles({
    service: 'info: {}\npaths: [',
    deployment: '/a: {post: {artifact: gone.js}}\n/b:\n  post: {artifact: lost.js}',
    files: { 'metadata.json': metadata.join('\n') },
  });
  const expected = [
    'metadata.json:2 @id in metadata.json is "no-id"; it must',
    'metadata.json:3 version in metadata.json must be a string',
    'service.yaml:2 service.yaml is not valid YAML: line 2: ',
    'deployment.yaml:1 gone.js, named by deployment.yaml line 1',
    'deployment.yaml:3 lost.js, named by deployment.yaml line 3',
  ];
  const found = await placesOf(files);
  assert.deepEqual(
    found.map((each, i) => each.slice(0, expected[i]?.length)),
    expected,
  );
});

test('a descriptor that the metadata name wrongly is one problem', async () => {
  const named = (value: unknown): Promise<string[]> =>
    placesOf(koFiles({ metadata: { hasServiceSpecification: value } }));
  assert.match((await named('services.yaml')).join(), /^metadata\.json:\d services\.yaml, named by has[^,]*$/);
  assert.match((await named([])).join(), /^metadata\.json:\d hasServiceSpecification in metadata\.json must[^,]*$/);
  assert.match((await named('')).join(), /^metadata\.json:\d hasServiceSpecification in metadata\.json is em[^,]*$/);
  assert.match((await named(null)).join(), /^metadata\.json:\d metadata\.json has no hasServiceSpecification[^,]*$/);
  assert.match((await named(undefined)).join(), /^metadata\.json: metadata\.json has no hasServiceSpecification[^,]*$/);
});
