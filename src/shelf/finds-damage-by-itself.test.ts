import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { filesOf, metadataOf, put } from '../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../test/conformance/temporary-folder.ts';
import { objectOf } from '../../test/support/stored-packages.ts';
import { testDatabase } from '../../test/support/postgres/shared.ts';
import { openShelf } from './stores.ts';
import { scrub } from './scrub.ts';
import type { Shelf, ShelfDamage } from './shelf.ts';

const shared = await testDatabase();
after(() => shared[Symbol.asyncDispose]());
const DAMAGE = /^its file a\.js is (?:missing|not what was stored); import it again$/;

test('a clock that stands still, or goes back, keeps nobody from reading', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const { promise, resolve } = Promise.withResolvers<void>();
  const entry = { id: { naan: 'a', name: 'b', version: 'v1' }, metadata: '', digest: '', etag: '' };
  const shelf = { list: () => Promise.resolve([entry]), verify: () => Promise.resolve(undefined) };
  const scrubbing = scrub({ shelf, pass: 1, onRead: resolve, onDamage: () => undefined });
  t.mock.timers.setTime(1);
  await promise;
  scrubbing[Symbol.dispose]();
});

async function foundIn(shelf: Shelf): Promise<{ found: ShelfDamage; read: number }> {
  const { promise, resolve } = Promise.withResolvers<ShelfDamage>();
  let read = 0;
  const scrubbing = scrub({ shelf, pass: 1, onRead: () => void read++, onDamage: resolve });
  try {
    return { found: await promise, read };
  } finally {
    scrubbing[Symbol.dispose]();
  }
}

for (const [where, open] of [
  [
    'a folder',
    async (folder: string) => {
      await mkdir(join(folder, 'by-hand'));
      await writeFile(join(folder, 'by-hand/metadata.json'), metadataOf('a/a/v1'));
      const shelf = await openShelf(folder);
      return { shelf, damage: () => rm(objectOf(folder, 'a/b/v1', 'a.js')) };
    },
  ],
  [
    'PostgreSQL',
    async (folder: string) => ({
      shelf: await openShelf(shared.url, { copies: folder }),
      damage: () => shared.run(`UPDATE kgrid.object_piece SET bytes = 'evil' WHERE bytes = 'good'`),
    }),
  ],
] as const)
  test(`a package in ${where} that was damaged is found before somebody asks for it`, async () => {
    await using folder = await temporaryFolder();
    const { shelf: opened, damage } = await open(folder.path);
    await using shelf = opened;
    await put(shelf, 'a/b/v1', filesOf('a/b/v1', { 'a.js': 'good' }));
    await put(shelf, 'a/b/v2', filesOf('a/b/v2', { 'a.js': 'other' }));
    await damage();
    assert.deepEqual(shelf.damage(), []);
    const { found, read } = await foundIn(shelf);
    assert.ok(read >= 1 && read <= 3, String(read));
    assert.equal(found.where, 'a/b/v1');
    assert.match(found.cause, DAMAGE);
    assert.deepEqual(shelf.damage(), [found]);
    assert.equal(await shelf.verify({ naan: 'a', name: 'b', version: 'v2' }), undefined);
  });
