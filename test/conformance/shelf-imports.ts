import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import type { TestWithShelf } from './shelf.ts';
import { contentOn, failsWith, filesOf, koId, metadataOf, open, put } from './shelf-packages.ts';

const ID = 'hello/world/v1.0';

export function importTests(test: TestWithShelf): void {
  test('a committed package is on the shelf with every file, byte for byte', async (storage) => {
    await using shelf = await storage.open();
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const metadata = '{"z":1,"@id":"hello/world/v1.0","number":1.50,"z":2,\r\n"ключ":"ä\u2028"}';
    const files = {
      'metadata.json': metadata,
      'a.bin': bytes,
      'empty.txt': '',
      'deep/er/größe Ω.txt': 'ü',
      __proto__x: 'x',
    };
    const entry = await put(shelf, ID, files);
    assert.deepEqual(entry.id, koId(ID));
    assert.equal(entry.metadata, metadata);
    const opened = await open(shelf, ID);
    assert.deepEqual(opened.entry, entry);
    const paths = ['__proto__x', 'a.bin', 'deep/er/größe Ω.txt', 'empty.txt', 'metadata.json'];
    assert.deepEqual([...opened.files.keys()], paths);
    assert.equal(opened.files.get('metadata.json')?.size, Buffer.byteLength(metadata));
    assert.equal(opened.files.get('a.bin')?.size, 256);
    assert.deepEqual(await opened.read('a.bin'), bytes);
    assert.deepEqual(await opened.read('empty.txt'), Buffer.alloc(0));
    assert.equal((await opened.read('deep/er/größe Ω.txt')).toString(), 'ü');
    assert.equal((await opened.read('metadata.json')).toString(), metadata);
    opened.release();
  });

  test('a package may be metadata only', async (storage) => {
    await using shelf = await storage.open();
    await put(shelf, ID, filesOf(ID, {}));
    assert.deepEqual(await contentOn(shelf, ID), { 'metadata.json': metadataOf(ID) });
  });

  test('what is staged can be read back, and nobody else sees it', async (storage) => {
    await using shelf = await storage.open();
    await using staging = await shelf.stage();
    await staging.write('metadata.json', Readable.from([metadataOf(ID).slice(0, 5), metadataOf(ID).slice(5)]));
    await staging.write('x.txt', Readable.from([Buffer.from('one'), Buffer.from('two')]));
    assert.equal((await staging.read('x.txt')).toString(), 'onetwo');
    assert.deepEqual([...staging.files.keys()].sort(), ['metadata.json', 'x.txt']);
    assert.equal(staging.files.get('x.txt')?.size, 6);
    assert.equal(await shelf.find(koId(ID)), undefined);
    assert.deepEqual(await shelf.list(), []);
    await staging.commit(koId(ID));
    assert.deepEqual(await contentOn(shelf, ID), { 'metadata.json': metadataOf(ID), 'x.txt': 'onetwo' });
  });

  test('a staging that ends without a commit leaves the shelf as it was', async (storage) => {
    await using shelf = await storage.open();
    const before = await put(shelf, ID);
    {
      await using staging = await shelf.stage();
      await staging.write('metadata.json', Buffer.from(metadataOf(ID, 'never')));
    }
    assert.deepEqual(await shelf.list(), [before]);
  });

  test('an import of the same id replaces the whole package', async (storage) => {
    await using shelf = await storage.open();
    const first = await put(shelf, ID, filesOf(ID, { 'old.js': 'old', 'both.js': '1' }));
    const second = await put(shelf, ID, filesOf(ID, { 'new.js': 'new', 'both.js': '2' }));
    assert.notEqual(second.digest, first.digest);
    assert.deepEqual(await contentOn(shelf, ID), filesOf(ID, { 'new.js': 'new', 'both.js': '2' }));
    assert.deepEqual(await shelf.list(), [second]);
  });

  test('an import of what is there already changes nothing', async (storage) => {
    await using shelf = await storage.open();
    const first = await put(shelf, ID);
    assert.deepEqual(await put(shelf, ID), first);
    assert.deepEqual(await contentOn(shelf, ID), filesOf(ID));
  });

  test('a content that breaks off fails with its own error and leaves the earlier package', async (storage) => {
    await using shelf = await storage.open();
    const before = await put(shelf, ID);
    const broken = Object.assign(new Error('the client went away'), { code: 'ECONNRESET' });
    const content = (): Readable =>
      Readable.from(
        (async function* () {
          yield await Promise.resolve(Buffer.from('half'));
          throw broken;
        })(),
      );
    await using staging = await shelf.stage();
    await staging.write('metadata.json', Buffer.from(metadataOf(ID, 'never')));
    await assert.rejects(staging.write('x.js', content()), broken);
    assert.equal(staging.files.has('x.js'), false);
    assert.deepEqual(await shelf.find(koId(ID)), before);
  });

  test('a package without metadata.json, or with one that is not text, is refused', async (storage) => {
    await using shelf = await storage.open();
    await assert.rejects(put(shelf, ID, { 'a.js': '1' }), failsWith('import-refused', /metadata\.json/));
    const bytes = { 'metadata.json': Buffer.from([0x7b, 0xff, 0x7d]) };
    await assert.rejects(put(shelf, ID, bytes), failsWith('import-refused', /metadata\.json.*UTF-8/));
    assert.deepEqual(await shelf.list(), []);
  });

  test('a path that leaves the package, or stands for two things, is refused', async (storage) => {
    await using shelf = await storage.open();
    await using staging = await shelf.stage();
    await staging.write('a/b', Buffer.from('first'));
    for (const path of ['../evil', '/evil', 'x/../../evil', '', 'a\0', 'a/b', 'a/b/c', 'a']) {
      await assert.rejects(staging.write(path, Buffer.from('second')), failsWith('import-refused'), path);
    }
    assert.deepEqual([...staging.files.keys()], ['a/b']);
    assert.equal((await staging.read('a/b')).toString(), 'first');
  });

  test('a staging takes nothing after its end', async (storage) => {
    await using shelf = await storage.open();
    const staging = await shelf.stage();
    await staging.write('metadata.json', Buffer.from(metadataOf(ID)));
    await staging.commit(koId(ID));
    await assert.rejects(staging.write('late.js', Buffer.from('late')));
    await assert.rejects(staging.commit(koId(ID)));
    await staging[Symbol.asyncDispose]();
    assert.deepEqual(await contentOn(shelf, ID), { 'metadata.json': metadataOf(ID) });
  });
}
