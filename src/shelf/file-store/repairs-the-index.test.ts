import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { koKey } from '../../knowledge-object/id.ts';
import { contentOn, filesOf, koId, metadataOf, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { listingOf, packagesIn } from '../../../test/support/stored-packages.ts';
import type { Shelf } from '../shelf.ts';
import { openFileShelf } from './open-file-shelf.ts';
import { repairShelf, type RepairReport } from './repair-shelf.ts';

const repair = (dir: string): Promise<RepairReport> => repairShelf(dir, (message) => assert.fail(message));

async function onShelf(dir: string, work: (shelf: Shelf) => Promise<unknown>): Promise<void> {
  await using shelf = await openFileShelf(dir);
  await work(shelf);
}

const version = (id: string, text: string) => filesOf(id, { 'src/index.js': text });

test('a lost index is made again from the packages, metadata that were put and odd ids included', async () => {
  await using dir = await temporaryFolder();
  const elsewhere = metadataOf('other/place/v9', 'put');
  await onShelf(dir.path, async (shelf) => {
    await put(shelf, 'a/b/v1');
    await put(shelf, 'a/b/v2');
    await put(shelf, 'c/d/v1');
    await put(shelf, 'c/d/v1', version('c/d/v1', 'new'));
    await shelf.replaceMetadata(koId('a/b/v2'), elsewhere);
  });
  const before = readdirSync(join(dir.path, '.kgrid/index')).sort();
  rmSync(join(dir.path, '.kgrid/index'), { recursive: true });
  const report = await repair(dir.path);
  assert.deepEqual(report, { kept: [], rebuilt: ['a/b/v1', 'a/b/v2', 'c/d/v1'], movedAway: [], damaged: [] });
  assert.deepEqual(readdirSync(join(dir.path, '.kgrid/index')).sort(), before);
  await onShelf(dir.path, async (shelf) => {
    assert.deepEqual(
      (await shelf.list()).map(({ id }) => koKey(id)),
      ['a/b/v1', 'a/b/v2', 'c/d/v1'],
    );
    assert.deepEqual(await contentOn(shelf, 'a/b/v2'), { ...filesOf('a/b/v2'), 'metadata.json': elsewhere });
    assert.deepEqual(await contentOn(shelf, 'c/d/v1'), version('c/d/v1', 'new'));
    assert.deepEqual(shelf.damage(), []);
  });
});

test('of several packages of one KO the one that was stored last wins, the others are put aside', async () => {
  await using dir = await temporaryFolder();
  await onShelf(dir.path, (shelf) => put(shelf, 'a/b/v1', version('a/b/v1', 'old')));
  cpSync(join(dir.path, '.kgrid/objects'), join(dir.path, 'kept'), { recursive: true });
  await onShelf(dir.path, (shelf) => put(shelf, 'a/b/v1', version('a/b/v1', 'new')));
  // As a backup gives it back that is put over what is there.
  cpSync(join(dir.path, 'kept'), join(dir.path, '.kgrid/objects'), { recursive: true });
  rmSync(join(dir.path, 'kept'), { recursive: true });
  rmSync(join(dir.path, '.kgrid/index'), { recursive: true });
  const { rebuilt, movedAway } = await repair(dir.path);
  assert.deepEqual(rebuilt, ['a/b/v1']);
  assert.deepEqual(
    movedAway.map(({ why }) => why),
    ['a/b/v1 has a newer package'],
  );
  const aside = listingOf(dir.path, '.removed').find((path) => path.endsWith('src/index.js')) ?? '';
  assert.equal(readFileSync(join(dir.path, '.removed', aside), 'utf8'), 'old');
  await onShelf(dir.path, async (shelf) => {
    assert.deepEqual(await contentOn(shelf, 'a/b/v1'), version('a/b/v1', 'new'));
  });
});

test('only what is whole by its digests is taken; the rest is put aside and named', async () => {
  await using dir = await temporaryFolder();
  await onShelf(dir.path, async (shelf) => {
    for (const id of ['a/flipped/v1', 'a/cut/v1', 'a/whole/v1', 'a/record/v1', 'a/none/v1'])
      await put(shelf, id, version(id, id));
  });
  const objects = join(dir.path, '.kgrid/objects');
  const folderOf = (name: string): string =>
    packagesIn(dir.path).find((each) => readFileSync(join(objects, each, 'src/index.js'), 'utf8').includes(name)) ?? '';
  const folders = Object.fromEntries(['flipped', 'cut', 'record', 'none'].map((name) => [name, folderOf(name)]));
  writeFileSync(join(objects, folders['flipped'] ?? '', 'src/index.js'), 'a/flippeD/v1');
  rmSync(join(objects, folders['cut'] ?? '', 'src/index.js'));
  truncateSync(join(objects, `${folders['record'] ?? ''}.json`), 50);
  rmSync(join(objects, `${folders['none'] ?? ''}.json`));
  rmSync(join(dir.path, '.kgrid/index'), { recursive: true });
  const { rebuilt, movedAway, damaged } = await repair(dir.path);
  assert.deepEqual([rebuilt, damaged], [['a/whole/v1'], []]);
  const whys = new Map(movedAway.map(({ folder, why }) => [folder, why]));
  assert.match(whys.get(folders['flipped'] ?? '') ?? '', /^its file src\/index\.js is not what was stored/);
  assert.match(whys.get(folders['cut'] ?? '') ?? '', /^its file src\/index\.js is missing/);
  assert.match(whys.get(folders['record'] ?? '') ?? '', /^nothing says what it is/);
  assert.equal(whys.get(folders['none'] ?? ''), 'nothing says what it is (ENOENT)');
  assert.equal(listingOf(dir.path, '.removed').filter((path) => path.endsWith('src/index.js')).length, 3);
  await onShelf(dir.path, async (shelf) => {
    assert.equal((await shelf.list()).length, 1);
    assert.deepEqual(shelf.damage(), []);
  });
});

test('a half index is completed: whole entries stay, broken ones are made again, the old index is kept', async () => {
  await using dir = await temporaryFolder();
  await onShelf(dir.path, async (shelf) => {
    for (const id of ['a/gone/v1', 'a/broken/v1', 'a/whole/v1']) await put(shelf, id);
  });
  rmSync(join(dir.path, '.kgrid/index/a-gone-v1.json'));
  writeFileSync(join(dir.path, '.kgrid/index/a-broken-v1.json'), 'half');
  const { kept, rebuilt, movedAway, damaged } = await repair(dir.path);
  assert.deepEqual([kept, rebuilt, movedAway, damaged], [['a/whole/v1'], ['a/broken/v1', 'a/gone/v1'], [], []]);
  const [old = ''] = readdirSync(join(dir.path, '.removed'));
  assert.equal(readFileSync(join(dir.path, '.removed', old, 'a-broken-v1.json'), 'utf8'), 'half');
  assert.deepEqual(await repair(dir.path), {
    kept: ['a/broken/v1', 'a/gone/v1', 'a/whole/v1'],
    rebuilt: [],
    movedAway: [],
    damaged: [],
  });
});

test('a damaged package that has no other stays with its entry, and is named', async () => {
  await using dir = await temporaryFolder();
  await onShelf(dir.path, (shelf) => put(shelf, 'a/b/v1'));
  const [folder = ''] = packagesIn(dir.path);
  rmSync(join(dir.path, '.kgrid/objects', folder, 'src/index.js'));
  const { kept, rebuilt, movedAway, damaged } = await repair(dir.path);
  assert.deepEqual([kept, rebuilt, movedAway], [[], [], []]);
  assert.deepEqual(damaged, [{ where: 'a/b/v1', cause: 'its file src/index.js is missing; import it again' }]);
  assert.deepEqual(packagesIn(dir.path), [folder]);
});

test('packages of an earlier version, which have no record, get one at the next start', async () => {
  await using dir = await temporaryFolder();
  await onShelf(dir.path, (shelf) => put(shelf, 'a/b/v1'));
  const objects = join(dir.path, '.kgrid/objects');
  const [folder = ''] = packagesIn(dir.path);
  rmSync(join(objects, `${folder}.json`));
  await onShelf(dir.path, () => Promise.resolve());
  rmSync(join(dir.path, '.kgrid/index'), { recursive: true });
  assert.deepEqual((await repair(dir.path)).rebuilt, ['a/b/v1']);
});

test('a repair is refused while the shelf is in use', async () => {
  await using dir = await temporaryFolder();
  await onShelf(dir.path, async (shelf) => {
    await put(shelf, 'a/b/v1');
    await assert.rejects(
      repairShelf(dir.path, () => undefined),
      { message: /is in use by another activator/ },
    );
  });
});

test('a repair that was interrupted while the index changed its place begins anew', async () => {
  await using dir = await temporaryFolder();
  await onShelf(dir.path, (shelf) => put(shelf, 'a/b/v1'));
  mkdirSync(join(dir.path, '.removed'));
  renameSync(join(dir.path, '.kgrid/index'), join(dir.path, '.removed/index'));
  await assert.rejects(openFileShelf(dir.path), { code: 'start-refused' });
  assert.deepEqual((await repair(dir.path)).rebuilt, ['a/b/v1']);
});
