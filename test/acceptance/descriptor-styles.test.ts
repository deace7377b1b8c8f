import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, ko as koOf, resourceKo, uniqueNaan, zipOf } from './support/ko.ts';
import type { Content, Ko } from './support/ko.ts';
import { costOf } from './support/process-tree.ts';
import { startService } from './support/service.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const CODE = 'function run(input) { return "hello " + input.name; }';

function deployed(deployment: string, files: Readonly<Record<string, Content>> = {}): Ko {
  const ko = javascriptKo(CODE, { naan: uniqueNaan() });
  return { ...ko, files: { ...ko.files, 'deployment.yaml': deployment, ...files } };
}

async function assertRuns(ko: Ko, expected: unknown = 'hello Ada'): Promise<void> {
  await service.serve(ko);
  const answer = await service.post(pathOf(ko), { name: 'Ada' });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.object['result'], expected);
}

test('a deployment maps path and method to artifact, engine and function (S-DEPLOYMENT)', async () => {
  await assertRuns(deployed('/run:\n  post:\n    artifact: src/index.js\n    engine: javascript\n    function: run\n'));
});

test('the older deployment shape is accepted with post for code', async () => {
  await assertRuns(
    deployed('endpoints:\n  /run:\n    artifact: src/index.js\n    engine: javascript\n    function: run\n'),
  );
});

test('the older deployment shape is accepted with get for a resource', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources: { 'a.txt': 'a' } });
  const deployment = 'endpoints:\n  /files:\n    artifact: [a.txt]\n    engine: resource\n';
  await service.serve({ ...ko, files: { ...ko.files, 'deployment.yaml': deployment } });
  assert.deepEqual((await service.get(pathOf(ko, 'files'))).object['result'], ['a.txt']);
});

test('an engine may be a map with a name, in any case', async () => {
  for (const engine of ['{name: javascript}', '{name: JavaScript, version: 9}', 'JAVASCRIPT', 'JavaScript']) {
    const ko = deployed(`/run:\n  post:\n    artifact: src/index.js\n    engine: ${engine}\n    function: run\n`);
    await assertRuns(ko);
    assert.equal((await service.endpoints(ko.naan))[0]?.['engine'], 'javascript');
  }
});

test('an artifact list has its main file first, or named by entry (S-DEPLOYMENT)', async () => {
  const files = { 'src/other.js': 'function run() { return "other"; }' };
  const list = '[src/index.js, src/other.js]';
  const ending = 'engine: javascript, function: run}}\n';
  await assertRuns(deployed(`/run: {post: {artifact: ${list}, ${ending}`, files));
  await assertRuns(deployed(`/run: {post: {artifact: ${list}, entry: src/other.js, ${ending}`, files), 'other');
  await assertRuns(deployed(`/run: {post: {artifact: [src/index.js], entry: src/index.js, ${ending}`));
});

test('descriptors may be JSON and may lie in folders', async () => {
  const naan = uniqueNaan();
  const ko = javascriptKo(CODE, {
    naan,
    metadata: { hasServiceSpecification: 'doc/service.json', hasDeploymentSpecification: 'doc/deploy.json' },
    files: { 'service.yaml': undefined, 'deployment.yaml': undefined },
  });
  const types = { 'application/json': {} };
  const descriptor = {
    openapi: '3.0.0',
    info: { version: '1.0', title: 't' },
    servers: [{ url: `/${naan}/ko` }],
    paths: {
      '/run': { post: { requestBody: { content: types }, responses: { 200: { description: 'ok', content: types } } } },
    },
  };
  const deployment = { '/run': { post: { artifact: 'src/index.js', engine: 'javascript', function: 'run' } } };
  const files = { 'doc/service.json': JSON.stringify(descriptor), 'doc/deploy.json': JSON.stringify(deployment) };
  await assertRuns({ ...ko, files: { ...ko.files, ...files } });
  assert.equal((await service.endpoints(naan))[0]?.['hasServiceSpecification'], `/kos/${ko.id}/doc/service.json`);
});

test('an engine is known by its other names too, and listed under the short one', async () => {
  const ko = javascriptKo(CODE, { naan: uniqueNaan() });
  const { 'deployment.yaml': deployment = '', ...files } = ko.files;
  const named = String(deployment).replace(
    /engine: *"?javascript"?|"engine": *"javascript"/,
    '"engine": "org.kgrid.JavaScript-Activator"',
  );
  assert.notEqual(named, deployment);
  await assertRuns({ ...ko, files: { ...files, 'deployment.yaml': named } });
  for (const engine of ['javascript', 'org.kgrid.javascript-activator']) {
    const { list } = await service.get(`/endpoints/${engine}`);
    assert.ok(list.some((each) => String(each['@id']).startsWith(`${ko.naan}/`) && each['engine'] === 'javascript'));
  }
});

test('the path of a descriptor leads to it whatever its name', async () => {
  const file = 'my docs/service #1 100%.yaml';
  const ko = javascriptKo(CODE, { naan: uniqueNaan(), metadata: { hasServiceSpecification: file } });
  const { 'service.yaml': descriptor = '', ...files } = ko.files;
  await assertRuns({ ...ko, files: { ...files, [file]: descriptor } });
  const [endpoint] = await service.endpoints(ko.naan);
  const { pathname, search, hash } = new URL(String(endpoint?.['hasServiceSpecification']), service.url);
  assert.equal((await service.get(pathname + search + hash)).text, descriptor);
  const link = new URL(String(endpoint?.['swaggerLink']));
  assert.equal(new URL(link.searchParams.get('url') ?? '').pathname, pathname);
});

test('YAML anchors and merges in descriptors are followed', async () => {
  const naan = uniqueNaan();
  const post = (path: string) => ({
    path,
    consumes: ['application/json'],
    deployment: { artifact: 'src/index.js', engine: 'javascript', function: 'run' },
  });
  const ko = koOf({ naan, endpoints: [post('/first'), post('/run')], files: { 'src/index.js': CODE } });
  const deployment = `
/first:
  post: &base {engine: javascript, artifact: src/index.js, function: missing}
/run:
  post:
    <<: *base
    function: run
`;
  await assertRuns({ ...ko, files: { ...ko.files, 'deployment.yaml': deployment } });
});

test('a byte order mark and Windows line ends do no harm', async () => {
  const ko = javascriptKo(CODE, { naan: uniqueNaan() });
  const windows = (content: Content): string => `\ufeff${String(content).replaceAll('\n', '\r\n')}`;
  const files = Object.fromEntries(Object.entries(ko.files).map(([path, content]) => [path, windows(content)]));
  await assertRuns({ ...ko, files });
  for (const path of [`/kos/${ko.id}`, `/kos/ark:/${ko.naan}/ko`, '/kos']) {
    assert.ok((await service.get(path)).json);
  }
});

test('a path item may be a local reference', async () => {
  const ko = javascriptKo(CODE, { naan: uniqueNaan() });
  const descriptor = `openapi: 3.0.2
info: {version: "1.0", title: t}
servers: [{url: /${ko.naan}/ko}]
paths:
  /run: {$ref: '#/components/pathItems/run'}
components:
  pathItems:
    run: {post: {requestBody: {content: {application/json: {}}}, responses: {'200': {description: ok}}}}
`;
  await assertRuns({ ...ko, files: { ...ko.files, 'service.yaml': descriptor } });
});

test('a reference that turns in a circle harms nobody', async () => {
  const ko = javascriptKo(CODE, { naan: uniqueNaan() });
  const descriptor = `openapi: 3.0.2
info: {version: "1.0", title: t}
servers: [{url: /${ko.naan}/ko}]
paths:
  /run: {post: {requestBody: {$ref: '#/components/requestBodies/a'}, responses: {'200': {description: ok}}}}
components:
  requestBodies:
    a: {$ref: '#/components/requestBodies/b'}
    b: {$ref: '#/components/requestBodies/a'}
`;
  await service.serve({ ...ko, files: { ...ko.files, 'service.yaml': descriptor } });
  assert.equal((await service.get('/actuator/health')).status, 200);
});

test('a YAML bomb ends quickly', async () => {
  await using own = await startService();
  const ko = javascriptKo(CODE, { naan: uniqueNaan() });
  const lines = ['  a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 12; i++)
    lines.push(
      `  a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  const descriptor = `${String(ko.files['service.yaml'])}\nx-bomb:\n${lines.join('\n')}\n`;
  const before = await costOf(own.pid);
  const answer = await own.importZip(await zipOf({ ...ko.files, 'service.yaml': descriptor }));
  const { tree } = await costOf(own.pid);
  assert.ok(tree.cpu - before.tree.cpu < 3, `${tree.cpu - before.tree.cpu} s of the processor`);
  if (answer.status !== 200) assert.match(String(answer.object['Error']), /service\.yaml/);
  assert.equal((await own.get('/actuator/health')).status, 200);
});
