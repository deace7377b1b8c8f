import assert from 'node:assert/strict';
import { koKey } from '../../src/knowledge-object/id.ts';
import type { ShelfEntry } from '../../src/shelf/shelf.ts';
import type { TestWithShelf } from './shelf.ts';
import { contentOn, filesOf, koId, metadataOf, put, type Files } from './shelf-packages.ts';

export function listingTests(test: TestWithShelf): void {
  test('an empty shelf has nothing', async (storage) => {
    await using shelf = await storage.open();
    assert.deepEqual(await shelf.list(), []);
    assert.equal(await shelf.find(koId('a/b/c')), undefined);
    assert.equal(await shelf.open(koId('a/b/c')), undefined);
    assert.deepEqual(await shelf.versions('a', 'b'), []);
    assert.deepEqual(shelf.damage(), []);
    assert.ok(shelf.type.length > 0);
    assert.ok(Math.abs(shelf.created.getTime() - Date.now()) < 60_000);
    await shelf.check();
  });

  test('the list is ordered by naan, name and natural version', async (storage) => {
    await using shelf = await storage.open();
    const ordered = ['a/x/v1', 'a/x/v2.0', 'a/x/v10.0', 'a/x.y/v1', 'a/y/1.9', 'a/y/1.10', 'b/a/v1'];
    for (const id of [...ordered].reverse()) await put(shelf, id);
    assert.deepEqual(
      (await shelf.list()).map(({ id }) => koKey(id)),
      ordered,
    );
    assert.deepEqual(
      (await shelf.versions('a', 'x')).map(({ id }) => id.version),
      ['v1', 'v2.0', 'v10.0'],
    );
    assert.deepEqual(await shelf.versions('a', 'z'), []);
  });

  test('a part of the list begins behind any place, and is no longer than asked for', async (storage) => {
    await using shelf = await storage.open();
    for (const id of ['a/x/v1', 'a/x/v2', 'a/x/v10', 'a/y/v1', 'b/a/v1']) await put(shelf, id);
    const part = async (after: string | undefined, limit?: number): Promise<string[]> => {
      const [naan = '', name = '', version = ''] = after?.split('/') ?? [];
      const range = { limit, ...(after === undefined ? {} : { after: { naan, name, version } }) };
      return (await shelf.list(range)).map(({ id }) => koKey(id));
    };
    assert.deepEqual(await part(undefined, 2), ['a/x/v1', 'a/x/v2']);
    assert.deepEqual(await part('a/x/v2', 2), ['a/x/v10', 'a/y/v1']);
    assert.deepEqual(await part('a/x/v3', 1), ['a/x/v10'], 'behind what is not there');
    assert.deepEqual(await part('a'), await part(undefined));
    assert.deepEqual(await part('a/y'), ['a/y/v1', 'b/a/v1']);
    assert.deepEqual(await part('b/a/v1', 5), []);
    assert.deepEqual(await part('z/z/z'), []);
  });

  test('a list that was given out does not change', async (storage) => {
    await using shelf = await storage.open();
    await put(shelf, 'a/b/v1');
    const before = await shelf.list();
    const copy = [...before];
    await put(shelf, 'a/b/v2');
    await shelf.remove(koId('a/b/v1'));
    assert.deepEqual(before, copy);
    assert.deepEqual(
      (await shelf.list()).map(({ id }) => id.version),
      ['v2'],
    );
  });

  test('equal content has equal digests, under any id', async (storage) => {
    await using shelf = await storage.open();
    const metadata = metadataOf('a/b/v1');
    const putAs = (id: string, files: Files): Promise<ShelfEntry> =>
      put(shelf, id, { 'metadata.json': metadata, ...files });
    const one = await putAs('a/b/v1', { 'x.js': '1', 'y.js': '2' });
    const same = await putAs('a/b/v2', { 'y.js': '2', 'x.js': '1' });
    const other = await putAs('a/b/v3', { 'x.js': '2', 'y.js': '1' });
    const renamed = await putAs('a/b/v4', { 'x.js': '1', 'z.js': '2' });
    const retitled = await putAs('a/b/v5', {
      'x.js': '1',
      'y.js': '2',
      'metadata.json': metadataOf('a/b/v1', 'other'),
    });
    assert.match(one.digest, /^[0-9a-f]{64}$/);
    assert.equal(same.digest, one.digest);
    assert.equal(new Set([one, other, renamed, retitled].map((entry) => entry.digest)).size, 4);
  });

  test('the entity tag changes with the metadata and with any file, and only with these', async (storage) => {
    await using shelf = await storage.open();
    const one = await put(shelf, 'a/b/v1');
    assert.match(one.etag, /^"[^"]+"$/);
    const changed = await shelf.replaceMetadata(koId('a/b/v1'), metadataOf('a/b/v1', 'other'));
    assert.notEqual(changed.digest, one.digest);
    assert.notEqual(changed.etag, one.etag);
    const back = await shelf.replaceMetadata(koId('a/b/v1'), one.metadata);
    assert.equal(back.etag, one.etag);
    const file = await put(shelf, 'a/b/v1', filesOf('a/b/v1', { 'src/index.js': 'changed' }));
    assert.notEqual(file.etag, one.etag);
  });

  test('the revision grows with each change, and tells which KOs changed', async (storage) => {
    await using shelf = await storage.open();
    await put(shelf, 'a/b/v1');
    const start = await shelf.revision();
    assert.deepEqual(await shelf.changes(start), []);
    const changedBy = async (change: () => Promise<unknown>): Promise<string[]> => {
      const before = await shelf.revision();
      await change();
      const changed = await shelf.changes(before);
      assert.equal((await shelf.revision()) > before, changed !== undefined && changed.length > 0);
      return [...new Set(changed?.map(koKey))];
    };
    assert.deepEqual(await changedBy(() => put(shelf, 'a/c/v1')), ['a/c/v1']);
    const other = metadataOf('a/b/v1', 'other');
    assert.deepEqual(await changedBy(() => shelf.replaceMetadata(koId('a/b/v1'), other)), ['a/b/v1']);
    assert.deepEqual(await changedBy(() => shelf.remove(koId('a/c/v1'))), ['a/c/v1']);
    assert.deepEqual(await changedBy(() => shelf.rescan()), []);
    assert.deepEqual(await changedBy(() => shelf.rescan([{ naan: 'a', name: 'b' }])), []);
    await assert.rejects(shelf.remove(koId('a/c/v1')));
    assert.deepEqual(new Set((await shelf.changes(start))?.map(koKey)), new Set(['a/c/v1', 'a/b/v1']));
    assert.equal(await shelf.changes((await shelf.revision()) + 1), undefined, 'of another shelf');
  });

  test('lists and versions are in order after any changes', async (storage) => {
    await using shelf = await storage.open();
    const present = new Set<string>();
    for (const key of ['b/b/v10', 'a/b/v2', 'b/b/v9', 'c/a/v1', 'a/b.c/v1', 'a/b/v10', 'b/b/v9', 'a/b/v1']) {
      if (present.delete(key)) await shelf.remove(koId(key));
      else await put(shelf, [...present.add(key)].at(-1) ?? '');
      assert.deepEqual(new Set((await shelf.list()).map(({ id }) => koKey(id))), present);
    }
    const keys = (await shelf.list()).map(({ id }) => koKey(id));
    assert.deepEqual(keys, ['a/b/v1', 'a/b/v2', 'a/b/v10', 'a/b.c/v1', 'b/b/v10', 'c/a/v1']);
    const versions = async (naan: string, name: string) =>
      (await shelf.versions(naan, name)).map(({ id }) => id.version);
    assert.deepEqual(await versions('a', 'b'), ['v1', 'v2', 'v10']);
    assert.deepEqual(await versions('b', 'b'), ['v10']);
    assert.deepEqual(await versions('a', 'a'), []);
    assert.deepEqual(await versions('c', 'z'), []);
  });

  test('what was acknowledged is there when the shelf is opened again', async (storage) => {
    let before;
    {
      await using shelf = await storage.open();
      await put(shelf, 'a/b/v1');
      await put(shelf, 'a/b/v2', filesOf('a/b/v2', { old: 'old' }));
      await put(shelf, 'a/b/v2', filesOf('a/b/v2', { new: 'new' }));
      await put(shelf, 'a/b/v3');
      await put(shelf, 'a/b/v4');
      await shelf.replaceMetadata(koId('a/b/v3'), '{"@id":"elsewhere/x/y"}');
      await shelf.remove(koId('a/b/v4'));
      await using unfinished = await shelf.stage();
      await unfinished.write('metadata.json', Buffer.from(metadataOf('a/b/v5')));
      before = await shelf.list();
    }
    await using shelf = await storage.open();
    assert.deepEqual(await shelf.list(), before);
    assert.deepEqual(
      before.map(({ id }) => id.version),
      ['v1', 'v2', 'v3'],
    );
    assert.deepEqual(await contentOn(shelf, 'a/b/v2'), filesOf('a/b/v2', { new: 'new' }));
    assert.deepEqual(shelf.damage(), []);
    await shelf.rescan();
    assert.deepEqual(await shelf.list(), before);
  });
}
