import assert from 'node:assert/strict';
import { cp, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ENGINES } from '../../src/engines/table.ts';
import { PROJECT, startService, temporaryFolder } from './support/service.ts';
import { assertWorkedExamples } from './support/worked-examples.ts';

const EXAMPLES = join(PROJECT, 'examples');
const LOCAL_ENGINES = ENGINES.filter(({ local }) => local).map(({ name }) => name);

test('the examples give their published worked values', async () => {
  await using folder = await temporaryFolder();
  const names = (await readdir(EXAMPLES, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  for (const name of names) await cp(join(EXAMPLES, name), join(folder.path, name), { recursive: true });
  await using service = await startService({ shelf: folder.path });
  let calls = 0;
  for (const name of names) {
    const read = (file: string): Promise<string> => readFile(join(EXAMPLES, name, file), 'utf8');
    const metadata = JSON.parse(await read('metadata.json')) as {
      '@id': string;
      hasServiceSpecification: string;
      hasDeploymentSpecification: string;
    };
    const { info } = parse(await read(metadata.hasServiceSpecification), { schema: 'failsafe' }) as {
      info: { version: string };
    };
    const deployment = await read(metadata.hasDeploymentSpecification);
    if (!LOCAL_ENGINES.some((engine) => deployment.includes(`engine: ${engine}`))) continue;
    const [naan, ko] = metadata['@id'].split('/');
    calls += await assertWorkedExamples(service, join(EXAMPLES, name), `${naan ?? ''}/${ko ?? ''}/${info.version}`);
  }
  assert.ok(calls > 40, `${calls} calls`);
});

test('every example is on the shelf and its links lead somewhere', async () => {
  await using folder = await temporaryFolder();
  await cp(EXAMPLES, folder.path, { recursive: true });
  await using service = await startService({ shelf: folder.path });
  const kos = (await service.get('/kos')).list;
  const folders = (await readdir(EXAMPLES, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  assert.equal(kos.length, folders.length);
  for (const endpoint of (await service.get('/endpoints')).list) {
    assert.equal((await service.get(String(endpoint['hasServiceSpecification']))).status, 200);
    assert.equal((await service.get(String(endpoint['knowledgeObject']))).status, 200);
    if (LOCAL_ENGINES.includes(String(endpoint['engine'])) && !String(endpoint['@id']).startsWith('demo/broken')) {
      assert.equal(endpoint['status'], 'ACTIVATED', JSON.stringify(endpoint));
    }
  }
});

test('without a shelf the service serves a working copy of the examples in dev and says so', async () => {
  // In a copy of the project, since the working copy lies in it and may be in use.
  await using folder = await temporaryFolder();
  const copied = ['src', 'examples'];
  for (const part of await readdir(PROJECT)) {
    if (copied.includes(part)) await cp(join(PROJECT, part), join(folder.path, part), { recursive: true });
    else if (!part.startsWith('.')) await symlink(join(PROJECT, part), join(folder.path, part));
  }
  await using service = await startService({ shelf: false, profile: false, project: folder.path, early: true });
  assert.match(service.url, /^http:\/\/127\.0\.0\.1:/);
  assert.ok((await service.get('/kos')).list.length > 10);
  assert.ok('components' in (await service.get('/actuator/health')).object, 'dev');
  assert.match(JSON.stringify(service.log), /example/i);
  const path = '/kos/hepatology/meld/3.0';
  const metadata = (await service.get(path)).object;
  assert.equal((await service.put(path, { ...metadata, title: 'Changed' })).status, 200);
  const original = join('examples', 'hepatology-meld-3.0', 'metadata.json');
  const untouched = await readFile(join(folder.path, original), 'utf8');
  assert.equal(untouched, await readFile(join(PROJECT, original), 'utf8'), 'the examples stay as they are');
});
