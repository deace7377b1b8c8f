import assert from 'node:assert/strict';
import type { TestWithShelf } from './shelf.ts';
import { contentOn, failsWith, filesOf, koId, metadataOf, put } from './shelf-packages.ts';

const ID = 'hello/world/v1.0';

export function writeTests(test: TestWithShelf): void {
  test('metadata is replaced verbatim and never moves the KO', async (storage) => {
    await using shelf = await storage.open();
    await put(shelf, ID);
    for (const metadata of ['{ "@id" : "other/place/v9", "n": 1.0, "n": 2 }', '{}', '{"x":"\\u0000 \u{1F9EC}"}\n\n']) {
      const entry = await shelf.replaceMetadata(koId(ID), metadata);
      assert.equal(entry.metadata, metadata);
      assert.deepEqual(entry.id, koId(ID));
      assert.deepEqual(await shelf.list(), [entry]);
      assert.deepEqual(await contentOn(shelf, ID), { ...filesOf(ID), 'metadata.json': metadata });
    }
    assert.equal(await shelf.find(koId('other/place/v9')), undefined);
  });

  test('a removed KO is gone, its other versions stay', async (storage) => {
    await using shelf = await storage.open();
    await put(shelf, ID);
    const other = await put(shelf, 'hello/world/v2.0');
    await shelf.remove(koId(ID));
    assert.equal(await shelf.find(koId(ID)), undefined);
    assert.deepEqual(await shelf.versions('hello', 'world'), [other]);
    await assert.rejects(shelf.remove(koId(ID)), failsWith('ko-not-found'));
  });

  test('a KO that is not there can be neither changed nor removed, with any condition', async (storage) => {
    await using shelf = await storage.open();
    const notFound = failsWith('ko-not-found', /^Object location not found for ark id ark:\/hello\/world\/v1\.0$/);
    for (const ifMatch of [undefined, ['"x"'], ['*']]) {
      await assert.rejects(shelf.replaceMetadata(koId(ID), '{}', ifMatch), notFound);
      await assert.rejects(shelf.remove(koId(ID), ifMatch), notFound);
    }
    assert.deepEqual(await shelf.list(), []);
  });

  test('a condition holds when one of its tags is the current one', async (storage) => {
    await using shelf = await storage.open();
    const first = await put(shelf, ID);
    const second = await shelf.replaceMetadata(koId(ID), metadataOf(ID, 'second'), ['"x"', first.etag]);
    for (const ifMatch of [[], ['"x"'], [first.etag], [`W/${second.etag}`]]) {
      await assert.rejects(shelf.replaceMetadata(koId(ID), '{}', ifMatch), failsWith('precondition-failed'));
      await assert.rejects(shelf.remove(koId(ID), ifMatch), failsWith('precondition-failed'));
    }
    assert.deepEqual(await shelf.find(koId(ID)), second);
    await shelf.replaceMetadata(koId(ID), second.metadata, ['*']);
    await shelf.remove(koId(ID), [second.etag]);
    assert.equal(await shelf.find(koId(ID)), undefined);
  });
}
