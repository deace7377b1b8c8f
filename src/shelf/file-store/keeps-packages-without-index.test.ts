import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { contentOn, filesOf, koId, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder, type TemporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { listingOf, packagesIn } from '../../../test/support/stored-packages.ts';
import { openFileShelf } from './open-file-shelf.ts';

const IDS = ['a/b/v1', 'a/b/v2', 'c/d/v1'];

async function filledShelf(): Promise<TemporaryFolder> {
  const dir = await temporaryFolder();
  await using shelf = await openFileShelf(dir.path);
  for (const id of IDS) await put(shelf, id);
  return dir;
}

const losses: Readonly<Record<string, (index: string) => Promise<void>>> = {
  missing: (index) => rm(index, { recursive: true }),
  empty: async (index) => {
    await rm(index, { recursive: true });
    await mkdir(index);
  },
};
for (const [state, lose] of Object.entries(losses)) {
  test(`an index that is ${state} beside packages stops the start, says how to rebuild it, and costs nothing`, async () => {
    await using dir = await filledShelf();
    await lose(join(dir.path, '.kgrid/index'));
    const before = listingOf(dir.path, '.kgrid/objects');
    for (let start = 0; start < 2; start++) {
      await assert.rejects(openFileShelf(dir.path), {
        code: 'start-refused',
        message: `--shelf: ${dir.path} has 3 packages in .kgrid/objects, but the index of them, .kgrid/index, is ${state}: put it back from a backup, or rebuild it with: npx kgrid shelf repair ${dir.path}`,
      });
    }
    assert.deepEqual(listingOf(dir.path, '.kgrid/objects'), before);
  });
}

test('an index of which only the entries were deleted counts as empty', async () => {
  await using dir = await filledShelf();
  for (const name of readdirSync(join(dir.path, '.kgrid/index'))) rmSync(join(dir.path, '.kgrid/index', name));
  await assert.rejects(openFileShelf(dir.path), { code: 'start-refused', message: /is empty: put it back/ });
});

test('a package that no entry names is put aside with a line, its files and its record with it', async () => {
  await using dir = await filledShelf();
  rmSync(join(dir.path, '.kgrid/index/a-b-v2.json'));
  const warnings: string[] = [];
  await using shelf = await openFileShelf(dir.path, { onWarning: (message) => warnings.push(message) });
  assert.equal(packagesIn(dir.path).length, 2);
  assert.equal(warnings.length, 1);
  const [, folder = '', place = ''] =
    /^\.kgrid\/objects\/(\S+), once of a\/b\/v2, belongs to no knowledge object: it was moved to \.removed\/(a-b-v2\.\S+)$/.exec(
      warnings[0] ?? '',
    ) ?? [];
  assert.deepEqual(readdirSync(join(dir.path, '.removed', place)).sort(), [folder, `${folder}.json`]);
  assert.equal(
    readFileSync(join(dir.path, '.removed', place, folder, 'src/index.js'), 'utf8'),
    filesOf('a/b/v2')['src/index.js'],
  );
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), filesOf('a/b/v1'));
});

test('a shelf that is empty for a reason starts, with what a kill left of the last package put aside', async () => {
  await using dir = await temporaryFolder();
  {
    const shelf = await openFileShelf(dir.path);
    await shelf[Symbol.asyncDispose]();
    // As when the process is killed before the entry is written.
    await dir.add({ '.kgrid/objects/0a-1/src/index.js': 'half' });
  }
  {
    await using shelf = await openFileShelf(dir.path);
    assert.deepEqual(packagesIn(dir.path), []);
    await put(shelf, 'a/b/v1');
    await shelf.remove(koId('a/b/v1'));
    await dir.add({ '.kgrid/objects/0a-2/src/index.js': 'its readers were not done' });
  }
  await using shelf = await openFileShelf(dir.path);
  assert.equal(listingOf(dir.path, '.removed').filter((path) => path.endsWith('index.js')).length, 2);
  await put(shelf, 'a/b/v2');
});

test('what an entry that cannot be read may name stays where it is', async () => {
  await using dir = await filledShelf();
  await dir.add({ '.kgrid/index/a-b-v2.json': 'half an en' });
  await using shelf = await openFileShelf(dir.path);
  assert.equal(packagesIn(dir.path).length, 3);
  assert.equal(shelf.damage().length, 1);
});

test('an import that fails at an entry that cannot be read leaves that as it was', async () => {
  await using dir = await filledShelf();
  await dir.add({ '.kgrid/index/a-b-v2.json': 'half an en' });
  const onStep = (step: string): void => {
    if (step === 'sync folder of pointer') throw Object.assign(new Error(), { code: 'EIO' });
  };
  await using shelf = await openFileShelf(dir.path, { onStep });
  await assert.rejects(put(shelf, 'a/b/v2'), { code: 'shelf-not-writable' });
  assert.equal(readFileSync(join(dir.path, '.kgrid/index/a-b-v2.json'), 'utf8'), 'half an en');
});

test('the size of what was put aside is told, and follows', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ 'ko/metadata.json': '{"@id": "a/b/v1"}', '.removed/old/file': '12345' });
  await using shelf = await openFileShelf(dir.path);
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
