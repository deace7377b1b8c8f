import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertShelfError } from './support/expectations.ts';
import { explode } from './support/folders.ts';
import { pathOf } from './support/knowledge-grid.ts';
import type { Client } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { IN_DATABASE, runToEnd, startService, temporaryFolder } from './support/service.ts';

const greet = async (service: Client, ko: Ko): Promise<number> =>
  (await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status;

test('what was imported is served after a restart, also after a kill', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const [kept, deleted] = [welcomeKo({ naan, name: 'kept' }), welcomeKo({ naan, name: 'deleted' })];
  {
    await using first = await startService({ shelf: folder.path });
    await first.add(kept, deleted);
    await first.delete(`/kos/${deleted.id}`);
    await first.stop('SIGKILL');
  }
  await using second = await startService({ shelf: folder.path });
  assert.deepEqual((await second.get(`/kos/${kept.id}`)).json, kept.metadata);
  assert.equal(await greet(second, kept), 200);
  assert.equal((await second.get(`/kos/${deleted.id}`)).status, 404);
});

test('exploded KOs are served where they lie, up to three folders deep', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const places = ['any name', 'two/deep', 'three/levels/deep', 'far/too/deep/now'];
  const kos = places.map((_, i) => welcomeKo({ naan, name: `ko${i}` }));
  for (const [i, ko] of kos.entries()) await explode(ko, folder.path, places[i] ?? '');
  await using service = await startService({ shelf: folder.path });
  const statuses = await Promise.all(kos.map((ko) => greet(service, ko)));
  assert.deepEqual(statuses, [200, 200, 200, 404]);
  assert.equal((await service.get(`/kos/${naan}/ko0/v1.0/src/index.js`)).status, 200);
  assert.equal(await readFile(join(folder.path, 'any name/src/index.js'), 'utf8'), kos[0]?.files['src/index.js']);
});

test('start and reload take an exploded KO in again when it changed', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const saying = (text: string): Ko => javascriptKo(`function run() { return "${text}"; }`, { naan });
  const result = async (service: Client): Promise<unknown> =>
    (await service.post(`/${naan}/ko/1.0/run`, {})).object['result'];
  await explode(saying('one'), folder.path, 'ko');
  {
    await using service = await startService({ shelf: folder.path });
    assert.equal(await result(service), 'one');
    await explode(saying('two'), folder.path, 'ko');
    assert.equal(await result(service), 'one', 'a change takes effect only after a reload');
    await service.reload(saying('two'));
    assert.equal(await result(service), 'two');
    await explode(saying('three'), folder.path, 'ko');
    await explode(welcomeKo({ naan, name: 'added' }), folder.path, 'added');
    assert.equal((await service.get('/actuator/activation/reload')).status, 303);
    assert.equal(await result(service), 'three');
    assert.equal(await greet(service, welcomeKo({ naan, name: 'added' })), 200);
  }
  await explode(saying('four'), folder.path, 'ko');
  await using again = await startService({ shelf: folder.path });
  assert.equal(await result(again), 'four');
});

test('a deletion or an import of the same id moves an exploded KO to .removed, and a PUT changes its metadata', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const [deleted, replaced] = [welcomeKo({ naan, name: 'deleted' }), welcomeKo({ naan, name: 'replaced' })];
  const put = welcomeKo({ naan, name: 'put' });
  await explode(put, folder.path, 'put folder');
  await explode(deleted, folder.path, 'deleted folder');
  await explode(replaced, folder.path, 'replaced folder');
  const next = welcomeKo({ naan, name: 'replaced', metadata: { title: 'Imported' } });
  {
    await using service = await startService({ shelf: folder.path });
    assert.equal((await service.put(`/kos/${put.id}`, { ...put.metadata, title: 'Put' })).status, 200);
    assert.equal((await service.get(`/kos/${put.id}`)).object['title'], 'Put');
    assert.equal((await service.delete(`/kos/${deleted.id}`)).status, 204);
    await service.add(next);
    assert.equal((await service.get(`/kos/${next.id}`)).object['title'], 'Imported');
    const names = await readdir(folder.path);
    assert.ok(!names.includes('deleted folder') && !names.includes('replaced folder'), names.join());
    const removed = await readdir(join(folder.path, '.removed'), { recursive: true });
    assert.equal(removed.filter((path) => path.endsWith('metadata.json')).length, 2, removed.join());
  }
  await using again = await startService({ shelf: folder.path });
  assert.equal((await again.get(`/kos/${deleted.id}`)).status, 404);
  assert.equal((await again.get(`/kos/${next.id}`)).object['title'], 'Imported');
  assert.equal((await again.get(`/kos/${put.id}`)).object['title'], 'Put');
});

test('archives on the shelf are imported once, and a refused one is named', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const [first, second] = [welcomeKo({ naan, name: 'first' }), welcomeKo({ naan, name: 'second' })];
  await writeFile(join(folder.path, 'first.zip'), await zipOf(first.files));
  await writeFile(join(folder.path, 'refused.zip'), 'PK');
  {
    await using service = await startService({ shelf: folder.path });
    assert.equal(await greet(service, first), 200);
    const health = JSON.stringify((await service.get('/actuator/health')).object);
    assert.match(health, /"onShelf":"refused\.zip","cause":"The zip file /);
    await mkdir(join(folder.path, 'deep'));
    await writeFile(join(folder.path, 'deep/second.zip'), await zipOf(second.files));
    assert.equal((await service.get('/actuator/activation/reload')).status, 303);
    assert.equal(await greet(service, second), 200);
    assert.equal((await service.delete(`/kos/${first.id}`)).status, 204);
    await service.stop('SIGKILL');
  }
  await using again = await startService({ shelf: folder.path });
  assert.equal((await again.get(`/kos/${first.id}`)).status, 404);
  assert.equal(await greet(again, second), 200);
  assert.deepEqual(
    (await readdir(folder.path)).filter((name) => name.endsWith('.zip')),
    ['refused.zip'],
  );
});

test('damaged and inconsistent KOs are reported and the rest serve', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const good = welcomeKo({ naan, name: 'good' });
  await explode(good, folder.path, 'good');
  await explode({ ...good, files: { 'metadata.json': '{"@id": "x' } }, folder.path, 'half');
  await explode({ ...good, files: { 'metadata.json': '[]' } }, folder.path, 'list');
  await explode({ ...good, files: { 'metadata.json': '{"@id":"../../etc"}' } }, folder.path, 'escape');
  await explode(welcomeKo({ naan, name: 'disagrees', serverUrl: '/x/y' }), folder.path, 'disagrees');
  const unreadable = welcomeKo({ naan, name: 'unreadable' });
  await explode(
    { ...unreadable, files: { ...unreadable.files, 'deployment.yaml': 'a: [' } },
    folder.path,
    'unreadable',
  );
  await mkdir(join(folder.path, 'empty'));
  await writeFile(join(folder.path, 'stray.txt'), 'x');
  await using service = await startService({ shelf: folder.path });
  assert.equal(await greet(service, good), 200);
  const health = (await service.get('/actuator/health')).object;
  assert.equal(health['status'], 'UP');
  const text = JSON.stringify(health) + JSON.stringify(service.log);
  for (const name of ['half', 'list', 'escape', `${naan}/unreadable`, `${naan}/disagrees`])
    assert.ok(text.includes(name), name);
  assert.equal((await service.get('/kos')).list.length >= 1, true);
  assert.equal((await service.get('/actuator/activation/reload')).status, 303);
  assert.equal(await greet(service, good), 200);
});

test('a read-only shelf serves, and writes say that it is read-only', async () => {
  await using folder = await temporaryFolder();
  const ko = welcomeKo({ naan: uniqueNaan() });
  await explode(ko, folder.path, 'ko');
  await chmod(join(folder.path, 'ko'), 0o555);
  await chmod(folder.path, 0o555);
  try {
    await using service = await startService({ shelf: folder.path, args: ['--read-only'], unprivileged: true });
    assert.equal(await greet(service, ko), 200);
    assert.equal((await service.get(`/kos/${ko.id}`, { accept: 'application/zip' })).status, 200);
    const error = /read-only|not writable|cannot be written/i;
    const answers: [string, Awaited<ReturnType<Client['get']>>][] = [
      ['/kos', await service.importZip(await zipOf(welcomeKo({ naan: ko.naan, version: 'v2.0' }).files))],
      [`/kos/${ko.id}`, await service.put(`/kos/${ko.id}`, ko.metadata)],
      [`/kos/${ko.id}`, await service.delete(`/kos/${ko.id}`)],
    ];
    for (const [path, answer] of answers) assertShelfError(answer, { status: 500, path, error });
    assert.equal(await greet(service, ko), 200);
    assert.deepEqual(await shelfHealth(service), ['UP', undefined]);
  } finally {
    await chmod(folder.path, 0o755);
    await chmod(join(folder.path, 'ko'), 0o755);
  }
});

const skip = IN_DATABASE && 'activators share a shelf in a database';

test('a second activator on the same shelf refuses to start and names the first', { skip }, async () => {
  await using service = await startService();
  const end = await runToEnd({ shelf: service.shelf });
  assert.notEqual(end.code, 0);
  const lines = end.stderr.split('\n').filter((line) => line.trim() !== '');
  assert.equal(lines.length, 1, lines.join('\n'));
  assert.ok(lines[0]?.includes(String(service.pid)), lines[0]);
  assert.doesNotMatch(lines[0] ?? '', /:0\b[);]/, 'no port that nobody has');
  assert.equal((await service.get('/kos')).status, 200);
});

for (const [what, inShelf] of [
  ['shelf', '.'],
  ['database of a shelf', '.kgrid/shelf.db'],
] as const) {
  test(`a ${what} that cannot be written, though nobody said so, serves and is DOWN for changes`, async () => {
    await using folder = await temporaryFolder();
    const ko = welcomeKo({ naan: uniqueNaan() });
    await explode(ko, folder.path, 'ko');
    if (inShelf !== '.') await (await startService({ shelf: folder.path }))[Symbol.asyncDispose]();
    const path = join(folder.path, inShelf);
    const { mode } = await stat(path);
    await chmod(path, mode & 0o555);
    try {
      await using service = await startService({ shelf: folder.path, unprivileged: true });
      assert.equal(await greet(service, ko), 200);
      const problem =
        'The shelf cannot be written by this user: it serves, and refuses every change; --read-only says that it shall be so';
      assert.deepEqual(await shelfHealth(service), ['DOWN', problem]);
      assert.equal((await service.get('/actuator/health')).object['status'], 'UP');
      assert.match((await service.get('/actuator/prometheus')).text, /^kgrid_shelf_up 0$/m);
      const refused = { status: 500, path: `/kos/${ko.id}`, error: /read-only/ };
      assertShelfError(await service.delete(`/kos/${ko.id}`), refused);
      assert.ok(service.log.some(({ level, msg }) => level === 'warn' && msg === problem));
    } finally {
      await chmod(path, mode);
    }
  });
}

async function shelfHealth(service: Client): Promise<readonly unknown[]> {
  const { components } = (await service.get('/actuator/health')).object as {
    components: { shelf: { status: string; details: { problem?: string } } };
  };
  return [components.shelf.status, components.shelf.details.problem];
}
