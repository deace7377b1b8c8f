/** `kgrid shelf backup`, `restore` and `copy` of a folder, while its activator goes on. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { welcomeKo, zipOf, type Ko } from '../acceptance/support/ko.ts';
import { startService, type OwnService } from '../acceptance/support/service.ts';
import { writeTarGz, type TarSource } from '../../src/shelf/tar/write-tar.ts';
import { gunzip } from '../../src/shelf/tar/gunzip.ts';
import { readTar } from '../../src/shelf/tar/read-tar.ts';
import { objectOf } from '../support/stored-packages.ts';
import { kgrid, kgridJson, temporaryFolder } from './kgrid.ts';
import { longTest } from '../support/round.ts';

const IMPORTS = 40;

const numbered = (number: number, code = 'x'): Ko =>
  welcomeKo({ naan: 'b', name: `ko${String(number)}`, files: { 'src/own.txt': `${String(number)} ${code}` } });

async function importAll(service: OwnService, kos: readonly Ko[]): Promise<void> {
  for (const ko of kos) assert.equal((await service.importZip(await zipOf(ko.files))).status, 200);
}

const idsOn = async (service: OwnService): Promise<unknown[]> =>
  (await service.get('/kos')).list.map((each) => (each as { '@id': string })['@id']).sort();

interface Audit {
  readonly records: readonly { readonly action: string; readonly subject: string }[];
}

const auditOf = async (shelf: string): Promise<Audit['records']> =>
  (await kgridJson<Audit>(['audit', 'show', shelf])).json.records;

/** Works while knowledge objects are imported; it begins once the first of them is there. */
async function duringImports<T>(service: OwnService, work: () => Promise<T>): Promise<T> {
  const kos = Array.from({ length: IMPORTS }, (_, number) => numbered(number));
  await importAll(service, kos.slice(0, 1));
  const [done] = await Promise.all([work(), importAll(service, kos.slice(1))]);
  return done;
}

test('a backup that is made during imports is whole, and a service starts on what is restored from it', async () => {
  await using folder = await temporaryFolder();
  const [shelf, file, restored] = ['shelf', 'backup.tar.gz', 'new/place'].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  const early = [numbered(900), numbered(901), numbered(902)];
  await using service = await startService({ shelf });
  await importAll(service, early);
  const replaced = numbered(900, 'other');
  await importAll(service, [replaced]);
  assert.equal((await service.delete('/kos/b/ko902/v1.0')).status, 204);
  const during = await duringImports(service, () => kgrid(['shelf', 'backup', shelf, file]));
  assert.deepEqual([during.code, during.stderr], [0, '']);
  assert.match(during.stdout, /^\d+ packages in .*backup\.tar\.gz\n$/);
  assert.deepEqual(readdirSync(folder.path).sort(), ['backup.tar.gz', 'shelf']);

  const back = await kgridJson<{ kos: number; retained: number }>(['shelf', 'restore', file, restored]);
  assert.deepEqual([back.code, back.json.retained], [0, 2], back.stderr);
  assert.ok(back.json.kos >= 3 && back.json.kos <= IMPORTS + 2, String(back.json.kos));
  assert.deepEqual(
    (await kgrid(['shelf', 'check', restored])).stdout,
    `${back.json.kos + 2} packages whole, 0 damaged\n`,
  );
  assert.equal((await kgrid(['audit', 'verify', restored])).code, 0);
  const all = await auditOf(shelf);
  const records = await auditOf(restored);
  assert.ok(records.length > 0);
  assert.deepEqual(records, all.slice(-records.length));

  await using again = await startService({ shelf: restored });
  const ids = await idsOn(again);
  assert.equal(ids.length, back.json.kos);
  assert.deepEqual(
    ids.filter((id) => !records.some(({ subject }) => subject === id)),
    [],
  );
  assert.equal((await again.post('/b/ko900/1.0/welcome', { name: 'Ann' })).status, 200);
  for (const [id, text] of [
    ['b/ko900/v1.0', '900 x'],
    ['b/ko902/v1.0', '902 x'],
  ]) {
    assert.equal((await again.post(`/kos/${id}/restore`, {})).status, id === 'b/ko902/v1.0' ? 201 : 200);
    assert.equal((await again.get(`/kos/${id}/src/own.txt`)).text, text);
  }
});

test('an archive that is damaged, lacks something or holds something else is refused, and leaves nothing', async () => {
  await using folder = await temporaryFolder();
  const [shelf, file] = [join(folder.path, 'shelf'), join(folder.path, 'backup.tar.gz')];
  {
    await using service = await startService({ shelf });
    await importAll(service, [numbered(1), numbered(2)]);
  }
  assert.equal((await kgrid(['shelf', 'backup', shelf, file])).code, 0);
  const whole = readFileSync(file);
  const entries = await entriesOf(file);
  const object = entries.find(({ path }) => /^objects\/..\/[0-9a-f]{64}$/.test(path))?.path ?? '';
  const flipped = Buffer.from(whole);
  flipped.writeUInt8(flipped.readUInt8(whole.length >> 1) ^ 1, whole.length >> 1);
  const cases: readonly [string, Buffer | readonly TarSource[], RegExp][] = [
    ['cut off', whole.subarray(0, whole.length >> 1), /is cut off/],
    ['flipped', flipped, /damaged/],
    ['empty', Buffer.alloc(0), /it is no backup/],
    [
      'another object',
      entries.map((each) => (each.path === object ? { ...each, ...bytesOf('x') } : each)),
      /is not what its name says/,
    ],
    ['no object', entries.filter(({ path }) => path !== object), /it lacks [0-9a-f]{64}, which its database names/],
    ['no database', entries.filter(({ path }) => path !== 'shelf.db'), /it has no database/],
    [
      'damaged database',
      entries.map((each) => (each.path === 'shelf.db' ? { ...each, ...bytesOf('x') } : each)),
      /its database is not what was stored/,
    ],
    ['more', [...entries, { path: 'more', ...bytesOf('x') }], /it holds more, which is no part of a backup/],
    ['nothing said', entries.slice(1), /it is no backup/],
    ['newer', [{ path: 'backup.json', ...bytesOf('{"format":2}') }, ...entries.slice(1)], /it has format 2/],
  ];
  for (const [what, content, said] of cases) {
    const damaged = join(folder.path, 'damaged.tar.gz');
    await writeFile(damaged, Buffer.isBuffer(content) ? content : writeTarGz(content));
    const refused = await kgrid(['shelf', 'restore', damaged, join(folder.path, 'a/b')]);
    assert.deepEqual([refused.code, refused.stdout], [3, ''], what);
    assert.match(refused.stderr, said, what);
    assert.deepEqual(readdirSync(folder.path).sort(), ['backup.tar.gz', 'damaged.tar.gz', 'shelf'], what);
  }
  const taken = await kgrid(['shelf', 'restore', file, shelf]);
  assert.equal(taken.code, 3);
  assert.match(taken.stderr, /has a shelf already, in \.kgrid/);
  assert.equal((await kgrid(['shelf', 'check', shelf])).code, 0);
});

test('what is damaged on the shelf is named and left out, and a backup that fails leaves the one before', async () => {
  await using folder = await temporaryFolder();
  const [shelf, file, restored] = ['shelf', 'backup.tar.gz', 'new'].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  {
    await using service = await startService({ shelf });
    await importAll(service, [numbered(1), numbered(2)]);
  }
  writeFileSync(objectOf(shelf, 'b/ko1/v1.0', 'src/own.txt'), 'changed');
  const saved = await kgrid(['shelf', 'backup', shelf, file]);
  assert.equal(saved.code, 1);
  assert.match(
    saved.stdout,
    /^damaged {2}b\/ko1\/v1\.0: its file src\/own\.txt is not what was stored; import it again\n1 package /,
  );
  const back = await kgrid(['shelf', 'restore', file, restored]);
  assert.equal(back.code, 1);
  assert.match(back.stdout, /^damaged {2}b\/ko1\/v1\.0: .*\n2 knowledge objects and 0 retained packages restored/);
  {
    await using service = await startService({ shelf: restored });
    assert.equal((await service.post('/b/ko2/1.0/welcome', { name: 'Ann' })).status, 200);
  }
  const before = readFileSync(file);
  for (const part of ['', '-wal', '-shm']) rmSync(join(shelf, `.kgrid/shelf.db${part}`), { force: true });
  writeFileSync(join(shelf, '.kgrid/shelf.db'), 'not a database at all, and long enough to be seen as such');
  assert.equal((await kgrid(['shelf', 'backup', shelf, file])).code, 3);
  assert.equal((await kgrid(['shelf', 'backup', shelf, join(shelf, 'in.tar.gz')])).code, 3);
  assert.ok(readFileSync(file).equals(before));
  assert.deepEqual(readdirSync(folder.path).sort(), ['backup.tar.gz', 'new', 'shelf']);
});

longTest(
  'a folder is copied while its activator imports, and its audit goes along to where there is none',
  async () => {
    await using folder = await temporaryFolder();
    const [shelf, target] = [join(folder.path, 'shelf'), join(folder.path, 'target')];
    await using service = await startService({ shelf });
    await importAll(service, [numbered(900)]);
    const copied = await duringImports(service, () => kgrid(['shelf', 'copy', shelf, target]));
    assert.equal(copied.code, 0, copied.stderr + copied.stdout);
    assert.match(copied.stdout, /^copied {2}b\/ko900\/v1\.0$/m);
    assert.match(copied.stdout, /\nThe audit is copied\n\d+ knowledge objects copied, 0 there already, 0 failed\n$/);
    assert.equal((await kgrid(['audit', 'verify', target])).code, 0);
    const rest = await kgrid(['shelf', 'copy', shelf, target]);
    assert.match(
      rest.stdout,
      /The audit is there already\n\d+ knowledge objects? copied, \d+ there already, 0 failed\n$/,
    );
    assert.deepEqual((await kgrid(['shelf', 'check', target])).stdout, `${IMPORTS + 1} packages whole, 0 damaged\n`);
    assert.equal((await service.get('/actuator/health')).object['status'], 'UP');

    const other = join(folder.path, 'other');
    {
      await using own = await startService({ shelf: other });
      await importAll(own, [numbered(901)]);
    }
    assert.match(
      (await kgrid(['shelf', 'copy', shelf, other])).stdout,
      /\nThe audit is left out: the target has one of its own\n/,
    );
    assert.equal((await kgrid(['audit', 'verify', other])).code, 0);
  },
);

test('a shelf of version 0.1 that nobody has taken over is not copied as if it were empty', async () => {
  await using folder = await temporaryFolder();
  const shelf = join(folder.path, 'shelf');
  mkdirSync(join(shelf, '.kgrid/index'), { recursive: true });
  mkdirSync(join(shelf, '.kgrid/objects'));
  const copied = await kgrid(['shelf', 'copy', shelf, join(folder.path, 'target')]);
  assert.equal(copied.code, 3);
  assert.match(copied.stderr, /is of version 0\.1, and is taken over only where it can be written: start once/);
  assert.deepEqual(readdirSync(join(shelf, '.kgrid')).sort(), ['index', 'objects']);
});

const bytesOf = (text: string): { size: number; content: Buffer } => ({
  size: text.length,
  content: Buffer.from(text),
});

async function entriesOf(file: string): Promise<TarSource[]> {
  await using archive = await open(file, 'r');
  const entries: TarSource[] = [];
  const limits = { unpacked: Infinity, file: Infinity, entries: Infinity };
  for await (const { name, size, content } of readTar(gunzip(archive, readFileSync(file).length), limits)) {
    const chunks: Buffer[] = [];
    for await (const chunk of content()) chunks.push(chunk);
    entries.push({ path: name, size, content: Buffer.concat(chunks) });
  }
  return entries;
}
