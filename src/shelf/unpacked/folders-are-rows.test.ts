import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { koFiles, zipOf } from '../../../test/archives/ko.ts';
import { contentOn, failsWith, filesOf, koId, metadataOf, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder, type TemporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../archive/archive.ts';
import type { Shelf } from '../shelf.ts';
import { openStoredShelf } from '../store/open-stored-shelf.ts';
import { folderStamp, stampFolder } from './unpacked-folder.ts';

const archives = { limits: DEFAULT_PACKAGE_LIMITS };
const ids = async (shelf: Shelf): Promise<string[]> => (await shelf.list()).map(({ id }) => koKey(id));
const unpacked = (folder: string, id: string, files = { 'src/index.js': 'run' }): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ 'metadata.json': metadataOf(id), ...files }).map(([path, text]) => [`${folder}/${path}`, text]),
  );
/** Until nothing in a folder is so fresh that it would be read again. */
async function settled({ path }: TemporaryFolder, ...folders: string[]): Promise<void> {
  for (const folder of folders) while (folderStamp(await stampFolder(join(path, folder))) === undefined) await turn();
}

interface KoRow {
  readonly id: string;
  readonly folder: string | null;
  readonly stamp: string | null;
  readonly revision: number;
}

async function rowsOf(shelf: { database: { query: unknown } } & Awaited<ReturnType<typeof openStoredShelf>>) {
  const { query } = shelf.database;
  const { rows } = await query<KoRow & Record<string, string | number | null>>(
    'SELECT id, folder, stamp, revision FROM ko WHERE removed = 0 ORDER BY id',
  );
  return rows;
}

test('a folder is a row with its path and stamp, and its package one whose files are not stored', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ ...unpacked('x', 'a/b/v1'), ...unpacked('y/z', 'a/c/v1') });
  await settled(dir, 'x', 'y/z');
  await using shelf = await openStoredShelf(dir.path);
  const rows = await rowsOf(shelf);
  assert.deepEqual(
    rows.map(({ id, folder, revision }) => [id, folder, revision]),
    [
      ['a/b/v1', 'x', 1],
      ['a/c/v1', 'y/z', 2],
    ],
  );
  for (const { stamp } of rows) assert.match(stamp ?? '', /^[0-9a-f]{64}$/);
  const packages = await shelf.database.query<{ digest: string; stored: number }>('SELECT digest, stored FROM package');
  const digests = (await shelf.list()).map(({ digest }) => digest);
  assert.deepEqual(new Set(packages.rows.map(({ digest }) => digest)), new Set(digests));
  assert.ok(packages.rows.every(({ stored }) => stored === 0));
  assert.deepEqual(await readdir(join(dir.path, '.kgrid/objects')), []);
});

test('a second start reads no file of a folder that has the stamp of its row', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ ...unpacked('x', 'a/b/v1'), ...unpacked('y', 'a/c/v1') });
  await settled(dir, 'x', 'y');
  const before = await (async () => {
    await using shelf = await openStoredShelf(dir.path);
    await shelf.database.query(`UPDATE ko SET etag = '"as the row says"' WHERE id = 'a/b/v1'`);
    return await rowsOf(shelf);
  })();
  await writeFile(join(dir.path, 'y/src/index.js'), 'other');
  await settled(dir, 'y');
  await using shelf = await openStoredShelf(dir.path);
  assert.equal((await shelf.find(koId('a/b/v1')))?.etag, '"as the row says"', 'what is unchanged is not read');
  assert.equal((await contentOn(shelf, 'a/c/v1'))['src/index.js'], 'other');
  const after = await rowsOf(shelf);
  assert.deepEqual(after[0], before[0]);
  assert.equal(after[1]?.revision, 3, 'a change of a folder is a change of the shelf');
});

test('a folder whose times alone changed is no change of the shelf', async () => {
  await using dir = await temporaryFolder();
  await dir.add(unpacked('x', 'a/b/v1'));
  await settled(dir, 'x');
  await using shelf = await openStoredShelf(dir.path);
  const [before] = await rowsOf(shelf);
  await utimes(join(dir.path, 'x/metadata.json'), 1, 1);
  await settled(dir, 'x');
  await shelf.rescan();
  const [after] = await rowsOf(shelf);
  assert.equal(after?.revision, before?.revision);
  assert.notEqual(after?.stamp, before?.stamp);
});

test('what went while nobody looked is gone at the next start, and so is its package', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ ...unpacked('x', 'a/b/v1'), ...unpacked('y', 'a/c/v1') });
  {
    await using shelf = await openStoredShelf(dir.path);
    assert.deepEqual(await ids(shelf), ['a/b/v1', 'a/c/v1']);
  }
  await rm(join(dir.path, 'x'), { recursive: true });
  await rename(join(dir.path, 'y'), join(dir.path, 'z'));
  await using shelf = await openStoredShelf(dir.path);
  assert.deepEqual(
    (await rowsOf(shelf)).map(({ id, folder }) => [id, folder]),
    [['a/c/v1', 'z']],
  );
  assert.equal((await shelf.database.query('SELECT digest FROM package')).rows.length, 1);
});

test('a look for what is new finds folders that came or went, and leaves those that changed', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ ...unpacked('x', 'a/b/v1'), ...unpacked('y', 'a/c/v1') });
  await settled(dir, 'x', 'y');
  await using shelf = await openStoredShelf(dir.path);
  const before = await shelf.find(koId('a/b/v1'));
  await dir.add({ 'x/src/index.js': 'other', ...unpacked('z', 'a/d/v1') });
  await rm(join(dir.path, 'y'), { recursive: true });
  await shelf.rescan(undefined, 'new');
  assert.deepEqual(await ids(shelf), ['a/b/v1', 'a/d/v1']);
  assert.deepEqual(await shelf.find(koId('a/b/v1')), before);
});

test('a thousand and more folders are taken in by few transactions, and all are known', async () => {
  await using dir = await temporaryFolder();
  const keys = Array.from({ length: 2100 }, (_, at) => `a/k${String(at)}/v1`);
  await dir.add(Object.fromEntries(keys.map((key, at) => [`ko ${String(at)}/metadata.json`, metadataOf(key)])));
  const steps: string[] = [];
  await using shelf = await openStoredShelf(dir.path, { onStep: (step) => void steps.push(step) });
  assert.deepEqual(new Set(await ids(shelf)), new Set(keys));
  assert.equal(steps.filter((step) => step === 'INSERT INTO ko').length, 3);
  await rm(dir.path, { recursive: true });
  await mkdir(dir.path);
  await shelf.rescan();
  assert.deepEqual(await ids(shelf), []);
});

test('a row that cannot be written leaves what was, says so, and is tried again', async () => {
  await using dir = await temporaryFolder();
  await dir.add(unpacked('x', 'a/b/v1'));
  let isFull = false;
  const onStep = (step: string): void => {
    if (isFull && step === 'INSERT INTO ko') throw Object.assign(new Error(), { code: 'ENOSPC' });
  };
  await using shelf = await openStoredShelf(dir.path, { onStep });
  isFull = true;
  await dir.add({ 'x/src/index.js': 'other', ...unpacked('y', 'a/c/v1') });
  await shelf.rescan();
  assert.deepEqual(await ids(shelf), ['a/b/v1']);
  assert.equal((await contentOn(shelf, 'a/b/v1'))['src/index.js'], 'other', 'its folder is read as it is');
  assert.deepEqual(
    shelf.damage().map(({ where, transient }) => [where, transient]),
    [
      ['x', true],
      ['y', true],
    ],
  );
  isFull = false;
  assert.deepEqual((await shelf.readAgain()).map(koKey).sort(), ['a/b/v1', 'a/c/v1']);
  assert.deepEqual(shelf.damage(), []);
});

test('a package that was active goes with the next look for what is left over', async () => {
  await using dir = await temporaryFolder();
  await dir.add(unpacked('x', 'a/b/v1'));
  await using shelf = await openStoredShelf(dir.path);
  const { query } = shelf.database;
  const packages = async (): Promise<number> => (await query('SELECT digest FROM package')).rows.length;
  await query(`INSERT INTO active (id, name, digest, generation, at) SELECT id, name, digest, 1, 1 FROM ko`);
  await dir.add({ 'x/src/index.js': 'other' });
  await shelf.rescan();
  await shelf.discardRemoved();
  assert.equal(await packages(), 2);
  await query('DELETE FROM active');
  await shelf.discardRemoved();
  assert.equal(await packages(), 1);
});

test('DELETE, a restore and an import over a folder retain what lay in it', async () => {
  await using dir = await temporaryFolder();
  await dir.add(unpacked('x', 'a/b/v1'));
  await using shelf = await openStoredShelf(dir.path, { keepRemoved: { count: 5, age: 1e9 } });
  const id = koId('a/b/v1');
  const first = await contentOn(shelf, 'a/b/v1');
  await shelf.remove(id);
  await shelf.restore(id);
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), first);
  await shelf.remove(id);
  await dir.add(unpacked('x', 'a/b/v1', { 'src/index.js': 'second' }));
  await shelf.rescan();
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { 'src/index.js': 'third' }));
  await shelf.rescan();
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), { ...first, 'src/index.js': 'third' });
  const whys = (await shelf.removed(id)).map(({ why }) => why);
  assert.deepEqual(whys, ['replaced', 'deleted']);
  const digest = (await shelf.removed(id))[0]?.digest;
  await shelf.restore(id, { digest });
  assert.equal((await contentOn(shelf, 'a/b/v1'))['src/index.js'], 'second');
  assert.deepEqual(shelf.damage(), []);
});

test('a restore of what a folder has already changes nothing', async () => {
  await using dir = await temporaryFolder();
  await dir.add(unpacked('x', 'a/b/v1'));
  await using shelf = await openStoredShelf(dir.path, { keepRemoved: { count: 5, age: 1e9 } });
  const entry = await shelf.find(koId('a/b/v1'));
  assert.deepEqual(await shelf.restore(koId('a/b/v1'), { digest: entry?.digest }), { entry, replaced: undefined });
  assert.deepEqual(await readdir(join(dir.path, 'x')), ['metadata.json', 'src']);
});

test('an import of equal content takes the place of a folder', async () => {
  await using dir = await temporaryFolder();
  await dir.add(unpacked('x', 'a/b/v1'));
  await using shelf = await openStoredShelf(dir.path);
  await put(shelf, 'a/b/v1', await contentOn(shelf, 'a/b/v1'));
  assert.deepEqual(
    (await rowsOf(shelf)).map(({ folder }) => folder),
    [null],
  );
  await rm(join(dir.path, '.removed'), { recursive: true });
  await shelf.rescan();
  assert.equal((await contentOn(shelf, 'a/b/v1'))['src/index.js'], 'run');
});

test('archives are imported once, like an upload, and put aside', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ 'one.zip': zipOf(koFiles({ id: 'a/b/v1.0' })), 'deep/two.zip': zipOf(koFiles({ id: 'a/c/v1.0' })) });
  {
    await using shelf = await openStoredShelf(dir.path, { archives });
    await shelf.ready();
    assert.deepEqual(await ids(shelf), ['a/b/v1.0', 'a/c/v1.0']);
    assert.deepEqual(shelf.damage(), []);
    assert.deepEqual(await readdir(join(dir.path, 'deep')), []);
    const names = (await readdir(join(dir.path, '.removed'))).map((name) => name.slice(0, 7)).sort();
    assert.deepEqual(names, ['one.zip', 'two.zip']);
    await shelf.remove(koId('a/b/v1.0'));
    await dir.add({ 'three.zip': zipOf(koFiles({ id: 'a/d/v1.0' })) });
    await shelf.rescan();
    assert.deepEqual(await ids(shelf), ['a/c/v1.0', 'a/d/v1.0']);
  }
  await using shelf = await openStoredShelf(dir.path, { archives });
  await shelf.ready();
  assert.deepEqual(await ids(shelf), ['a/c/v1.0', 'a/d/v1.0'], 'what was deleted does not come back');
});

test('an archive that is refused stays and is named, until it is another', async () => {
  await using dir = await temporaryFolder();
  await dir.add({
    'bad.zip': 'PK',
    'no-code.zip': zipOf(koFiles({ id: 'a/c/v1.0', files: { 'src/index.js': undefined } })),
  });
  const outcomes: string[] = [];
  const observe = (outcome: string): void => void outcomes.push(outcome);
  await using shelf = await openStoredShelf(dir.path, { archives: { ...archives, observe } });
  await shelf.ready();
  assert.deepEqual(await ids(shelf), []);
  const [bad, code] = shelf.damage();
  assert.deepEqual([bad?.where, code?.where], ['bad.zip', 'no-code.zip']);
  assert.match(bad?.cause ?? '', /^The zip file /);
  assert.match(code?.cause ?? '', /src\/index\.js, named by deployment\.yaml line \d+, is not in the package/);
  await shelf.rescan();
  assert.equal(outcomes.length, 2, 'it is not read again while it is the same');
  assert.deepEqual(
    (await readdir(dir.path)).filter((name) => name.endsWith('.zip')),
    ['bad.zip', 'no-code.zip'],
  );
  await dir.add({ 'bad.zip': zipOf(koFiles({ id: 'a/b/v1.0' })) });
  await shelf.rescan();
  assert.deepEqual(await ids(shelf), ['a/b/v1.0']);
  await rm(join(dir.path, 'no-code.zip'));
  await shelf.rescan();
  assert.deepEqual(shelf.damage(), []);
});

test('an archive that was imported and could not be put aside is named, and is put aside later', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ 'one.zip': zipOf(koFiles({ id: 'a/b/v1.0' })) });
  let fails = true;
  const onStep = (step: string): void => {
    if (fails && step === 'move archive') throw Object.assign(new Error(), { code: 'EIO' });
  };
  {
    await using shelf = await openStoredShelf(dir.path, { archives, onStep });
    await shelf.ready();
    assert.deepEqual(await ids(shelf), ['a/b/v1.0']);
    assert.match(shelf.damage()[0]?.cause ?? '', /^it was imported, and cannot be moved to \.removed \(EIO\)/);
    const before = await shelf.revision();
    fails = false;
    await shelf.rescan();
    assert.equal(await shelf.revision(), before, 'the same package is no change');
    assert.deepEqual(shelf.damage(), []);
  }
  assert.equal((await readdir(join(dir.path, '.removed'))).length, 1);
});

test('an archive replaces what was imported, and the folder of a person, as an upload does', async () => {
  await using dir = await temporaryFolder();
  const warnings: string[] = [];
  const onWarning = (message: string): void => void warnings.push(message);
  await dir.add(unpacked('x', 'a/b/v1.0'));
  await using shelf = await openStoredShelf(dir.path, { archives, onWarning });
  await dir.add({ 'one.zip': zipOf(koFiles({ id: 'a/b/v1.0' })) });
  await shelf.rescan();
  assert.match(warnings.at(-1) ?? '', /^a\/b\/v1\.0 was replaced by the archive one\.zip: sha256:/);
  assert.equal((await readdir(join(dir.path, '.removed'))).length, 2);
  assert.deepEqual(
    (await rowsOf(shelf)).map(({ folder }) => folder),
    [null],
  );
});

test('on a shelf that is only read, folders are rows of the copy, and archives are named', async () => {
  await using dir = await temporaryFolder();
  await using state = await temporaryFolder();
  await dir.add({ ...unpacked('x', 'a/b/v1'), 'one.zip': zipOf(koFiles({ id: 'a/c/v1.0' })) });
  await settled(dir, 'x');
  const before = await readdir(dir.path);
  for (let start = 0; start < 2; start++) {
    await using shelf = await openStoredShelf(dir.path, { archives, isReadOnly: true, state: state.path });
    await shelf.ready();
    assert.deepEqual(await ids(shelf), ['a/b/v1']);
    assert.deepEqual(await contentOn(shelf, 'a/b/v1'), {
      'metadata.json': metadataOf('a/b/v1'),
      'src/index.js': 'run',
    });
    assert.deepEqual(
      shelf.damage().map(({ where }) => where),
      ['one.zip'],
    );
    await assert.rejects(shelf.remove(koId('a/b/v1')), failsWith('shelf-not-writable'));
  }
  assert.deepEqual(await readdir(dir.path), before);
});

test('a shelf that is only read stays level with what its owner and people change', async () => {
  await using dir = await temporaryFolder();
  await dir.add(unpacked('x', 'a/b/v1'));
  await using owner = await openStoredShelf(dir.path);
  await using reader = await openStoredShelf(dir.path, { isReadOnly: true });
  assert.deepEqual(await ids(reader), ['a/b/v1']);
  await put(owner, 'a/c/v1', filesOf('a/c/v1'));
  await dir.add(unpacked('y', 'a/d/v1'));
  await reader.rescan();
  assert.deepEqual(await ids(reader), ['a/b/v1', 'a/c/v1', 'a/d/v1']);
  await put(owner, 'a/b/v1', filesOf('a/b/v1', { 'src/index.js': 'imported' }));
  await reader.rescan();
  assert.deepEqual(await ids(reader), ['a/b/v1', 'a/c/v1', 'a/d/v1']);
  assert.equal((await contentOn(reader, 'a/b/v1'))['src/index.js'], 'imported');
  await rm(join(dir.path, 'y'), { recursive: true });
  await owner.remove(koId('a/b/v1'));
  await reader.rescan();
  assert.deepEqual(await ids(reader), ['a/c/v1']);
});

test('a database that was put back from a backup has no folders that are not there', async () => {
  await using dir = await temporaryFolder();
  await using elsewhere = await temporaryFolder();
  await dir.add(unpacked('x', 'a/b/v1'));
  {
    await using shelf = await openStoredShelf(dir.path);
    await put(shelf, 'a/c/v1', filesOf('a/c/v1'));
  }
  await cp(join(dir.path, '.kgrid'), join(elsewhere.path, '.kgrid'), { recursive: true });
  await using shelf = await openStoredShelf(elsewhere.path);
  assert.deepEqual(await ids(shelf), ['a/c/v1']);
  assert.equal(await readFile(join(dir.path, 'x/src/index.js'), 'utf8'), 'run');
});
