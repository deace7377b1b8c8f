import assert from 'node:assert/strict';
import { cp, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENGINES } from '../../src/engines/table.ts';
import { addressOfEndpoint, exampleFolders, EXAMPLES, placeOfEndpoint } from './support/examples.ts';
import { inRound } from '../support/round.ts';
import { PROJECT, startService, temporaryFolder } from './support/service.ts';
import { assertWorkedExamples } from './support/worked-examples.ts';

const LOCAL_ENGINES = ENGINES.filter(({ builtIn }) => builtIn).map(({ name }) => name);

test('every example is on the shelf, its links lead somewhere, and it gives its published worked values', async () => {
  await using shelf = await temporaryFolder();
  await cp(EXAMPLES, shelf.path, { recursive: true });
  await using service = await startService({ shelf: shelf.path });
  const folders = await exampleFolders();
  assert.equal((await service.get('/kos')).list.length, folders.size);
  const endpoints = (await service.get('/endpoints')).list;
  assert.deepEqual(new Set(endpoints.map(placeOfEndpoint)), new Set(folders.keys()));
  const called = new Set<string>();
  let calls = 0;
  for (const endpoint of endpoints) {
    assert.equal((await service.get(String(endpoint['hasServiceSpecification']))).status, 200);
    assert.equal((await service.get(String(endpoint['knowledgeObject']))).status, 200);
    if (!LOCAL_ENGINES.includes(String(endpoint['engine']))) continue;
    const place = placeOfEndpoint(endpoint);
    if (!place.startsWith('demo/broken')) assert.equal(endpoint['status'], 'ACTIVATED', JSON.stringify(endpoint));
    if (called.size === called.add(place).size) continue;
    calls += await assertWorkedExamples(service, folders.get(place) ?? '', addressOfEndpoint(endpoint));
  }
  assert.ok(calls > 60, `${calls} calls`);
});

test('what a caller sends wrongly is the fault of the caller, in every example, with its schemas and without', async () => {
  await using shelf = await temporaryFolder();
  await cp(EXAMPLES, shelf.path, { recursive: true });
  for (const mode of inRound(['enforce'], ['off', 'enforce'])) {
    await using service = await startService({ shelf: shelf.path, args: ['--validate-inputs', mode] });
    const endpoints = (await service.get('/endpoints?status=activated')).list;
    const called = endpoints.filter(({ engine }) => engine !== 'resource');
    assert.ok(called.length > 10);
    for (const endpoint of called) {
      const answer = await service.post(`/${String(endpoint['@id'])}`, {});
      assert.ok([200, 400, 415, 422].includes(answer.status), `${String(endpoint['@id'])}: ${answer.text}`);
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
