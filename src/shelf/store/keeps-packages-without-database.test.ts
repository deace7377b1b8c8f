import assert from 'node:assert/strict';
import { readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { contentOn, filesOf, koId, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder, type TemporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { listingOf, objectsIn } from '../../../test/support/stored-packages.ts';
import { openStoredShelf } from './open-stored-shelf.ts';

const IDS = ['a/b/v1', 'a/b/v2', 'c/d/v1'];

async function filledShelf(): Promise<TemporaryFolder> {
  const dir = await temporaryFolder();
  await using shelf = await openStoredShelf(dir.path);
  for (const id of IDS) await put(shelf, id);
  return dir;
}

const losses: Readonly<Record<string, { lose: (file: string) => void; says: RegExp }>> = {
  missing: {
    lose: (file) => rmSync(file),
    says: /has 3 packages in \.kgrid\/objects, but its database, \.kgrid\/shelf\.db, is missing: .*kgrid shelf check --fix /,
  },
  empty: {
    lose: (file) => writeFileSync(file, ''),
    says: /has 3 packages in \.kgrid\/objects, but its database, \.kgrid\/shelf\.db, is empty: .*kgrid shelf check --fix /,
  },
  'without tables': {
    lose: (file) => {
      rmSync(file);
      new DatabaseSync(file).exec('PRAGMA user_version = 1');
    },
    says: /is empty: .*kgrid shelf check --fix /,
  },
  'no database': {
    lose: (file) => writeFileSync(file, 'something else '.repeat(1000)),
    says: /cannot be used \(file is not a database\): .*kgrid shelf check --fix /,
  },
};
for (const [state, { lose, says }] of Object.entries(losses)) {
  test(`a database that is ${state} beside packages stops the start, says how it is made again, and costs nothing`, async () => {
    await using dir = await filledShelf();
    lose(join(dir.path, '.kgrid/shelf.db'));
    const before = listingOf(dir.path, '.kgrid/objects');
    for (let start = 0; start < 2; start++)
      await assert.rejects(openStoredShelf(dir.path), { code: 'start-refused', message: says });
    assert.deepEqual(listingOf(dir.path, '.kgrid/objects'), before);
  });
}

/** Makes all objects of a shelf older than an hour. */
function makeOld(dir: string): void {
  for (const path of objectsIn(dir)) utimesSync(path, 1e9, 1e9);
}

test('what no row names goes after an hour, in a run that found its database, and nothing else', async () => {
  await using dir = await filledShelf();
  const stray = join(dir.path, '.kgrid/objects', 'ab');
  await dir.add({ [`.kgrid/objects/ab/${'ab'.repeat(32)}`]: 'left over' });
  {
    await using shelf = await openStoredShelf(dir.path);
    assert.equal(await shelf.collect(), 0, 'it is younger than an hour');
    makeOld(dir.path);
    await shelf.remove(koId('a/b/v2'));
    const held = await shelf.open(koId('c/d/v1'));
    await shelf.remove(koId('c/d/v1'));
    assert.equal(
      await shelf.collect(Date.now() + 7_200_000),
      1 + 2 + 1,
      'the stray one, what a/b/v2 had alone, and the listing of c/d/v1',
    );
    assert.equal((await held?.read('src/index.js'))?.toString(), 'function run() {}');
    held?.release();
    assert.ok((await shelf.collect(Date.now() + 7_200_000)) > 0, 'nobody has it open any more');
    assert.deepEqual(await contentOn(shelf, 'a/b/v1'), filesOf('a/b/v1'));
  }
  assert.ok(!readdirSync(stray).includes('ab'.repeat(32)));
});

test('a database that was made in this run says nothing of what is left over', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ [`.kgrid/objects/ab/${'ab'.repeat(32)}`]: 'from a backup' });
  makeOld(dir.path);
  await using shelf = await openStoredShelf(dir.path);
  assert.equal(await shelf.collect(), 0);
});

test('the size of what was put aside is told, and follows', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ 'ko/metadata.json': '{"@id": "a/b/v1"}', '.removed/old/file': '12345' });
  await using shelf = await openStoredShelf(dir.path);
  const removed = async (): Promise<unknown> => {
    for (let i = 0; i < 500 && shelf.condition().details['removed'] === undefined; i++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    return shelf.condition().details['removed'];
  };
  assert.deepEqual(await removed(), { entries: 1, bytes: 5 });
  await shelf.remove(koId('a/b/v1'));
  // Asking begins a count, and does not wait for it.
  for (let i = 0; i < 500 && (shelf.condition().details['removed'] as { entries: number }).entries === 1; i++)
    await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(await removed(), { entries: 2, bytes: 22 });
});
