import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { contentOn, failsWith, filesOf, koId, metadataOf, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder, type TemporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { Disk } from '../../../test/crash/disk.ts';
import { objectOf, packagesIn } from '../../../test/support/stored-packages.ts';
import type { Shelf } from '../shelf.ts';
import { openStoredShelf } from './open-stored-shelf.ts';
import { fixShelf } from './check-shelf.ts';

const ID = 'a/b/v1';
const keepRemoved = { count: 5, age: 86_400_000 };
const openAt = (dir: TemporaryFolder): Promise<Shelf> =>
  openStoredShelf(dir.path, { keepRemoved, onWarning: assert.fail });
const explode = (dir: TemporaryFolder): Promise<void> =>
  dir.add({ 'mine/metadata.json': metadataOf(ID), 'mine/a.js': 'mine' });
const mine = { 'metadata.json': metadataOf(ID), 'a.js': 'mine' };
const keptOf = async (shelf: Shelf): Promise<string[]> => (await shelf.removed()).map(({ why }) => why);

test('a folder of a person that was deleted or replaced comes back as an imported package', async () => {
  await using dir = await temporaryFolder();
  await explode(dir);
  {
    await using shelf = await openAt(dir);
    await shelf.remove(koId(ID));
    assert.deepEqual(await keptOf(shelf), ['deleted']);
  }
  await using shelf = await openAt(dir);
  await shelf.restore(koId(ID));
  assert.deepEqual(await contentOn(shelf, ID), mine);
  assert.equal((await readdir(join(dir.path, '.removed'))).length, 1, 'which only a person empties');
  await shelf.remove(koId(ID));
  await shelf.rescan();
  await explode(dir);
  await shelf.rescan();
  await put(shelf, ID, filesOf(ID, { 'a.js': 'imported' }));
  assert.deepEqual(await keptOf(shelf), ['replaced']);
  await shelf.restore(koId(ID));
  assert.deepEqual(await contentOn(shelf, ID), mine);
});

test('of a folder of which the metadata were replaced the former is kept, and costs once', async () => {
  await using dir = await temporaryFolder();
  await explode(dir);
  await using shelf = await openAt(dir);
  for (const title of ['one', 'two', 'three']) await shelf.replaceMetadata(koId(ID), metadataOf(ID, title));
  assert.equal((await shelf.removed()).length, 3);
  assert.equal(packagesIn(dir.path).length, 1);
  const first = (await shelf.removed()).at(-1);
  await shelf.restore(koId(ID), { digest: first?.digest });
  assert.deepEqual(await contentOn(shelf, ID), mine);
});

test('what a person does in .removed does not matter to what is retained', async () => {
  await using dir = await temporaryFolder();
  await explode(dir);
  await using shelf = await openAt(dir);
  await shelf.remove(koId(ID));
  await rm(join(dir.path, '.removed'), { recursive: true });
  await shelf.restore(koId(ID));
  assert.deepEqual(await contentOn(shelf, ID), mine);
});

test('a package that was damaged while it was kept is refused, and what is there stays', async () => {
  await using dir = await temporaryFolder();
  await using shelf = await openAt(dir);
  await put(shelf, ID, filesOf(ID, { 'a.js': 'first' }));
  const file = objectOf(dir.path, ID, 'a.js');
  const second = await put(shelf, ID, filesOf(ID, { 'a.js': 'second' }));
  await writeFile(file, 'rotten');
  await assert.rejects(
    shelf.restore(koId(ID)),
    failsWith('package-damaged', /file a\.js is not what was stored; nothing was changed/),
  );
  assert.deepEqual(await shelf.find(koId(ID)), second);
  await put(shelf, ID, filesOf(ID, { 'a.js': 'first' }));
  assert.deepEqual(await contentOn(shelf, ID), filesOf(ID, { 'a.js': 'first' }), 'an import does not take it up');
});

test('a database that is made again has what was on the shelf, and retains what was deleted or replaced', async () => {
  await using dir = await temporaryFolder();
  {
    await using shelf = await openAt(dir);
    await put(shelf, ID, filesOf(ID, { 'a.js': 'old' }));
    await put(shelf, ID, filesOf(ID, { 'a.js': 'new' }));
    await shelf.replaceMetadata(koId(ID), metadataOf(ID, 'other'));
    await put(shelf, 'a/gone/v1');
    await shelf.remove(koId('a/gone/v1'));
  }
  await rm(join(dir.path, '.kgrid/shelf.db'));
  await assert.rejects(openAt(dir), /has 1 package in \.kgrid\/objects, but its database/);
  const { rebuilt, damaged } = await fixShelf(dir.path, assert.fail);
  assert.deepEqual([rebuilt, damaged], [[ID], []]);
  await using shelf = await openAt(dir);
  assert.deepEqual(await contentOn(shelf, ID), { 'metadata.json': metadataOf(ID, 'other'), 'a.js': 'new' });
  assert.deepEqual((await keptOf(shelf)).length, 3);
  assert.equal(await shelf.find(koId('a/gone/v1')), undefined);
});

test('a start without bounds, as that of a tool, takes nothing of what is kept', async () => {
  await using dir = await temporaryFolder();
  {
    await using shelf = await openAt(dir);
    for (const text of ['1', '2', '3']) await put(shelf, ID, filesOf(ID, { 'a.js': text }));
  }
  {
    await using shelf = await openStoredShelf(dir.path);
    await put(shelf, ID, filesOf(ID, { 'a.js': '4' }));
    assert.equal(await shelf.discardRemoved(), 0);
  }
  await using shelf = await openAt(dir);
  assert.equal((await shelf.removed()).length, 2);
  assert.equal(packagesIn(dir.path).length, 3);
});

test('what is kept on a shelf that can only be read is listed, and restored by nobody', async () => {
  await using dir = await temporaryFolder();
  using disk = new Disk(dir.path);
  {
    await using shelf = await openAt(dir);
    await put(shelf, ID);
    await shelf.remove(koId(ID));
  }
  disk.protect();
  {
    const warnings: string[] = [];
    await using shelf = await openStoredShelf(dir.path, { keepRemoved, onWarning: (each) => warnings.push(each) });
    assert.equal(warnings.length, 1);
    assert.equal((await shelf.removed()).length, 1);
    await assert.rejects(shelf.restore(koId(ID)), failsWith('shelf-not-writable'));
    assert.equal(await shelf.discardRemoved(), 0);
  }
  disk.unprotect();
});
