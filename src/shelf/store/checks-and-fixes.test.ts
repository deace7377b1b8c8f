import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { koKey } from '../../knowledge-object/id.ts';
import { contentOn, filesOf, koId, metadataOf, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { objectOf, objectsIn } from '../../../test/support/stored-packages.ts';
import type { Shelf } from '../shelf.ts';
import { checkShelf, fixShelf } from './check-shelf.ts';
import { openStoredShelf } from './open-stored-shelf.ts';

async function onShelf(dir: string, work: (shelf: Shelf) => Promise<unknown>): Promise<void> {
  await using shelf = await openStoredShelf(dir);
  await work(shelf);
}

const version = (id: string, text: string) => filesOf(id, { 'src/index.js': text });
const databaseOf = (dir: string): string => join(dir, '.kgrid/shelf.db');

test('a lost database is made again from the objects, metadata that were put and odd ids included', async () => {
  await using dir = await temporaryFolder();
  const elsewhere = metadataOf('other/place/v9', 'put');
  await onShelf(dir.path, async (shelf) => {
    await put(shelf, 'a/b/v1');
    await put(shelf, 'a/b/v2');
    await put(shelf, 'c/d/v1');
    await put(shelf, 'c/d/v1', version('c/d/v1', 'new'));
    await shelf.replaceMetadata(koId('a/b/v2'), elsewhere);
  });
  rmSync(databaseOf(dir.path));
  const found = await checkShelf(dir.path);
  assert.match(found.database ?? '', /shelf\.db is missing/);
  const { rebuilt, damaged, aside } = await fixShelf(dir.path, assert.fail);
  assert.deepEqual(
    { rebuilt, damaged, aside },
    { rebuilt: ['a/b/v1', 'a/b/v2', 'c/d/v1'], damaged: [], aside: undefined },
  );
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

for (const [what, inflict] of [
  ['is no database', (file: string) => writeFileSync(file, 'x'.repeat(9000))],
  ['was cut', (file: string) => truncateSync(file, 4096)],
  ['is empty', (file: string) => truncateSync(file, 0)],
] as const)
  test(`a database that ${what} is put aside and made again`, async () => {
    await using dir = await temporaryFolder();
    await onShelf(dir.path, (shelf) => put(shelf, 'a/b/v1'));
    inflict(databaseOf(dir.path));
    const { rebuilt, aside } = await fixShelf(dir.path, assert.fail);
    assert.deepEqual(rebuilt, ['a/b/v1']);
    assert.ok(existsSync(join(dir.path, aside ?? '')));
    await onShelf(dir.path, async (shelf) => assert.deepEqual(await contentOn(shelf, 'a/b/v1'), filesOf('a/b/v1')));
  });

test('every file is read, while an activator runs, and what is damaged is named', async () => {
  await using dir = await temporaryFolder();
  await using shelf = await openStoredShelf(dir.path);
  await put(shelf, 'a/b/v1', version('a/b/v1', 'whole'));
  await put(shelf, 'c/d/v1', version('c/d/v1', 'flipped'));
  assert.deepEqual(await checkShelf(dir.path), { whole: 2, damaged: [], database: undefined });
  writeFileSync(objectOf(dir.path, 'c/d/v1', 'src/index.js'), 'flopped');
  assert.deepEqual(await checkShelf(dir.path), {
    whole: 1,
    damaged: [{ where: 'c/d/v1', cause: 'its file src/index.js is not what was stored; import it again' }],
    database: undefined,
  });
  await assert.rejects(fixShelf(dir.path, assert.fail), {
    code: 'start-refused',
    message: /in use by another activator/,
  });
});

test('a listing that was changed is named, and costs the others nothing', async () => {
  await using dir = await temporaryFolder();
  await onShelf(dir.path, async (shelf) => {
    await put(shelf, 'a/b/v1');
    await put(shelf, 'c/d/v1');
  });
  const listings = objectsIn(dir.path).filter((path) => path.endsWith('.package'));
  const [first = ''] = listings.sort();
  writeFileSync(first, '{"format":1,"id":"a/evil/v1","files":[["../../x",1,"00"]]}');
  rmSync(databaseOf(dir.path));
  const warnings: string[] = [];
  const { rebuilt } = await fixShelf(dir.path, (message) => warnings.push(message));
  assert.equal(rebuilt.length, 1);
  assert.match(warnings.join(''), /it is not what was stored/);
  assert.ok(!readdirSync(dir.path).includes('x'));
});
