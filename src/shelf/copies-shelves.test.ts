import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { contentOf, contentOn, filesOf, koId, put } from '../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../test/conformance/temporary-folder.ts';
import { testDatabase } from '../../test/support/postgres/shared.ts';
import { copyShelf, type CopyReport } from './copy-shelf.ts';
import { openShelf } from './stores.ts';
import type { Shelf } from './shelf.ts';

const database = await testDatabase();
const folder = await temporaryFolder();
after(async () => {
  await database[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const keepRemoved = { count: 10, age: 86_400_000 };
const copies = join(folder.path, 'copies');
const inFolder = (name: string): Promise<Shelf> => openShelf(join(folder.path, name), { keepRemoved });
const inDatabase = (fleet: string): Promise<Shelf> =>
  openShelf(database.url, { fleet, copies, keepRemoved, isNode: false });
const copy = (from: Shelf, to: Shelf, overwrite = false): Promise<CopyReport> =>
  copyShelf(from, to, { overwrite, onCopied: () => undefined });
const keptOn = async (shelf: Shelf): Promise<string[]> =>
  (await shelf.removed()).map(({ id, digest }) => `${id.naan}/${id.name}/${id.version} ${digest}`).sort();

async function fill(shelf: Shelf): Promise<void> {
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { 'x.js': 'first' }));
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { 'x.js': 'second' }));
  await shelf.replaceMetadata(koId('a/b/v1'), '{"odd": 1 }');
  await put(shelf, 'a/b/v2', filesOf('a/b/v2', { large: 'z'.repeat(2 ** 20 + 5) }));
  await put(shelf, 'a/gone/v1');
  await shelf.remove(koId('a/gone/v1'));
}

test('a shelf is copied from a folder into a database and back, with what is kept, and nothing twice', async () => {
  await using first = await inFolder('first');
  await fill(first);
  await using middle = await inDatabase('middle');
  const report = await copy(first, middle);
  assert.deepEqual([report.copied, report.keptCopied, report.failed], [['a/b/v1', 'a/b/v2', 'a/gone/v1'], 3, []]);
  await using last = await inFolder('last');
  await copy(middle, last);
  for (const shelf of [middle, last]) {
    assert.deepEqual(await shelf.list(), await first.list());
    assert.deepEqual(await keptOn(shelf), await keptOn(first));
    for (const { id } of await first.list()) {
      const key = `${id.naan}/${id.name}/${id.version}`;
      assert.deepEqual(await contentOn(shelf, key), await contentOn(first, key));
    }
  }
  const before = await middle.revision();
  const again = await copy(first, middle);
  assert.deepEqual([again.copied, again.present.length, await middle.revision()], [[], 3, before]);
});

test('a copy that broke off goes on, and what fails for one knowledge object leaves the others', async () => {
  await using from = await inFolder('broken');
  await fill(from);
  await using to = await inDatabase('broken');
  let stagings = 0;
  const breaks = new Proxy(to, {
    get: (target, name) => {
      if (name === 'stage' && ++stagings > 2) return () => Promise.reject(new Error('away'));
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const { failed } = await copy(from, breaks);
  assert.deepEqual(failed[0], { where: 'a/b/v1', cause: 'away' });
  assert.deepEqual((await copy(from, to)).failed, []);
  assert.deepEqual(await to.list(), await from.list());
  assert.deepEqual(await keptOn(to), await keptOn(from));
});

test('another package under the same id is replaced only when that is asked for', async () => {
  await using from = await inFolder('one');
  await using to = await inDatabase('other');
  const mine = await put(from, 'a/b/v1', filesOf('a/b/v1', { 'x.js': 'mine' }));
  const theirs = await put(to, 'a/b/v1', filesOf('a/b/v1', { 'x.js': 'theirs' }));
  const { failed } = await copy(from, to);
  assert.match(failed[0]?.cause ?? '', /another package is there, sha256:[0-9a-f]{64}: add --overwrite/);
  assert.deepEqual(await to.find(koId('a/b/v1')), theirs);
  await copy(from, to, true);
  assert.deepEqual(await to.find(koId('a/b/v1')), mine);
  const opened = await to.openRemoved(koId('a/b/v1'), theirs.digest);
  assert.equal((await contentOf(opened))['x.js'], 'theirs');
  await assert.rejects(from.openRemoved(koId('a/b/v1'), theirs.digest), { code: 'package-not-kept' });
});
