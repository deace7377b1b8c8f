import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from './support/ko.ts';
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

test('an artifact list has its main file first, or named by entry (S-DEPLOYMENT)', async () => {
  const files = { 'src/other.js': 'function run() { return "other"; }' };
  const list = '[src/index.js, src/other.js]';
  const ending = 'engine: javascript, function: run}}\n';
  await assertRuns(deployed(`/run: {post: {artifact: ${list}, ${ending}`, files));
  await assertRuns(deployed(`/run: {post: {artifact: ${list}, entry: src/other.js, ${ending}`, files), 'other');
  await assertRuns(deployed(`/run: {post: {artifact: [src/index.js], entry: src/index.js, ${ending}`));
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
