import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo, ko, resourceKo } from '../../test/acceptance/support/ko.ts';
import type { JavascriptParts, Ko } from '../../test/acceptance/support/ko.ts';
import { ManualEngine, loaded } from '../../test/support/in-memory.ts';
import { endpointDisagreement, endpointProblems, koDisagreement, koProblems } from './agreement.ts';

const ENGINES = new Map(
  [new ManualEngine(), new ManualEngine({ name: 'resource', method: 'get' })].map((engine) => [engine.name, engine]),
);
const made = (parts: Partial<JavascriptParts> = {}): Ko => javascriptKo('', { naan: 'a', name: 'b', ...parts });

const ofKo = async (parts: Partial<JavascriptParts>): Promise<string | undefined> => disagreementIn(made(parts));

/** What is wrong with the only service. */
async function disagreementIn(from: Ko): Promise<string | undefined> {
  const it = await loaded(from);
  return koDisagreement(it, it.services[0] ?? assert.fail());
}

/** What is wrong with the only endpoint. */
async function ofEndpoint(from: Ko): Promise<string | undefined> {
  const it = await loaded(from);
  const [{ from: service, entry } = assert.fail()] = it.declared;
  return endpointDisagreement(service, entry, ENGINES);
}

test('ids that name the same knowledge object agree, in each way of writing them', async () => {
  for (const identifier of ['ark:/a/b/v1.0', 'ark:a/b/v1.0', 'a/b/v1.0', undefined]) {
    assert.equal(await ofKo({ metadata: { identifier } }), undefined, identifier);
  }
  assert.equal(await ofKo({ metadata: { '@id': 'a/b/v1.0/' } }), undefined);
  assert.equal(await ofKo({ metadata: { version: undefined } }), undefined);
});

test('ids that disagree are named with what is expected', async () => {
  const cases: [metadata: Record<string, unknown>, message: RegExp][] = [
    [
      { '@id': 'a/b/v2.0' },
      /^@id in metadata\.json is a\/b\/v2\.0, but the knowledge object is on the shelf as a\/b\/v1\.0$/,
    ],
    [
      { identifier: 'ark:/a/c/v1.0' },
      /^identifier .* is ark:\/a\/c\/v1\.0, but @id is a\/b\/v1\.0: expected ark:\/a\/b\/v1\.0$/,
    ],
    [{ identifier: 'doi:10.1000/1' }, /^identifier .* is doi:10\.1000\/1/],
    [{ version: 'v1' }, /^version in metadata\.json is v1, but @id ends with v1\.0: make them the same$/],
  ];
  for (const [metadata, message] of cases) {
    // On the shelf it keeps the place that it was imported to.
    const original = made();
    const put = {
      ...original,
      files: { ...original.files, 'metadata.json': JSON.stringify({ ...original.metadata, ...metadata }) },
    };
    assert.match(String(await disagreementIn(put)), message);
  }
});

test('the address of the service may have the API version, and may be absolute', async () => {
  const agreeing = ['/a/b', '/a/b/', '/a/b/1.0', 'https://x.example/a/b', 'http://localhost:8080/a/b/1.0/'];
  for (const serverUrl of agreeing) assert.equal(await ofKo({ serverUrl }), undefined, serverUrl);
  for (const serverUrl of ['/a', '/a/c', '/a/b/2.0', '/a/b/1.0/run', 'https://x.example', 'a/b', '', '/A/b']) {
    const message = await ofKo({ serverUrl });
    assert.match(String(message), /servers.*\/a\/b/, serverUrl);
  }
});

test('every disagreement of a knowledge object is a problem with its file and line', async () => {
  const metadata = { identifier: 'ark:/x/y/z', version: 'v9' };
  const problems = koProblems(await loaded(made({ metadata, serverUrl: '/wrong' })));
  assert.deepEqual(
    problems.map(({ file }) => file),
    ['metadata.json', 'metadata.json', 'service.yaml'],
  );
  for (const { line } of problems) assert.ok(line !== undefined && line > 1, String(line));
});

test('path and method of the deployment stand in the service descriptor', async () => {
  assert.equal(await ofEndpoint(made()), undefined);
  const elsewhere = made({
    files: { 'deployment.yaml': '/go:\n  post: {artifact: src/index.js, engine: javascript}\n' },
  });
  assert.match(
    String(await ofEndpoint(elsewhere)),
    /^\/go \(deployment\.yaml line \d\) is not among the paths of service\.yaml, which are: \/run$/,
  );
  const got = resourceKo({ naan: 'a', name: 'b', endpoint: 'files', resources: { 'x.csv': '' } });
  const deployment = '/files:\n  post: {artifact: x.csv, engine: javascript}\n';
  assert.match(
    String(await ofEndpoint({ ...got, files: { ...got.files, 'deployment.yaml': deployment } })),
    /^POST \/files \(deployment\.yaml line \d\) is not in service\.yaml, which has for this path: GET$/,
  );
});

test('code is posted to and resources are got', async () => {
  const both = (engine: string, method: 'get' | 'post'): Ko =>
    ko({
      naan: 'a',
      name: 'b',
      endpoints: [{ path: '/run', method, deployment: { artifact: 'x.js', engine } }],
      files: { 'x.js': '' },
    });
  assert.equal(await ofEndpoint(both('javascript', 'post')), undefined);
  assert.equal(await ofEndpoint(both('Resource', 'get')), undefined, 'engines are compared without case');
  assert.match(String(await ofEndpoint(both('javascript', 'get'))), /endpoints of engine javascript use POST$/);
  assert.match(String(await ofEndpoint(both('resource', 'post'))), /endpoints of engine resource use GET$/);
  assert.match(
    String(await ofEndpoint(both('cobol', 'post'))),
    /^engine cobol \(deployment\.yaml line \d\) is not known here; engines: javascript, resource$/,
  );
});

test('artifacts and the entry must be in the package, and each that is not is named', async () => {
  const parts = { deployment: { artifact: ['src/index.js', 'src/none.js', 'gone.json'], entry: 'src/none.js' } };
  const it = await loaded(made(parts));
  const [{ from, entry } = assert.fail()] = it.declared;
  const messages = endpointProblems(from, entry, ENGINES).map(({ message }) => message);
  assert.equal(messages.length, 2);
  assert.match(messages[0] ?? '', /src\/none\.js/);
  assert.match(messages[1] ?? '', /gone\.json/);
});

test('what is said of an entry that cannot be read is only that', async () => {
  const it = await loaded(made({ deployment: { engine: undefined, artifact: undefined } }));
  const [{ from, entry } = assert.fail()] = it.declared;
  const messages = endpointProblems(from, entry, ENGINES).map(({ message }) => message);
  assert.deepEqual(messages, [...entry.problems]);
  assert.ok(messages.length > 0 && messages.every((each) => !each.includes('not known here')), messages.join());
});
