import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { TestWithShelf } from './shelf.ts';
import { contentOf, contentOn, failsWith, filesOf, koId, metadataOf, open, put } from './shelf-packages.ts';

const ID = 'hello/world/v1.0';

export function openPackageTests(test: TestWithShelf): void {
  test('files are streamed whole or by byte range, whatever their size', async (storage) => {
    await using shelf = await storage.open();
    const small = Buffer.from('0123456789');
    const large = randomBytes(3 * 2 ** 20);
    await put(shelf, ID, filesOf(ID, { small, large, empty: '' }));
    const opened = await open(shelf, ID);
    const metadata = Buffer.from(metadataOf(ID));
    for (const [path, bytes] of Object.entries({ small, large, 'metadata.json': metadata })) {
      assert.ok(bytes.equals(await buffer(await opened.stream(path))), path);
      for (const [start, end] of [
        [0, 0],
        [3, 7],
        [bytes.length - 1, bytes.length - 1],
        [0, bytes.length - 1],
      ] as const) {
        const part = await buffer(await opened.stream(path, { start, end }));
        assert.ok(bytes.subarray(start, end + 1).equals(part), `${path} ${String(start)}-${String(end)}`);
      }
    }
    assert.equal((await buffer(await opened.stream('empty'))).length, 0);
    opened.release();
  });

  test('a package knows the digest of each of its files, and a shelf that nothing is wrong with has no problem', async (storage) => {
    await using shelf = await storage.open();
    const files = filesOf(ID, { 'a.js': 'first', empty: '', large: 'x'.repeat(2 ** 20 + 1) });
    await put(shelf, ID, files);
    const opened = await open(shelf, ID);
    for (const [path, content] of Object.entries(files))
      assert.equal(opened.digestOf(path), createHash('sha256').update(content).digest('hex'), path);
    assert.equal(opened.digestOf('nope'), undefined);
    opened.release();
    assert.deepEqual(await shelf.readAgain(), []);
    assert.deepEqual([shelf.damage(), shelf.condition().problem], [[], undefined]);
  });

  test('a path that is not in the package is not found', async (storage) => {
    await using shelf = await storage.open();
    await put(shelf, ID, filesOf(ID, { 'src/index.js': '1' }));
    const opened = await open(shelf, ID);
    for (const path of ['nope', 'src', 'src/', '', '../metadata.json', '/etc/passwd', 'src/../metadata.json']) {
      const notFound = failsWith('binary-not-found', /^Binary resource not found shelf\/hello\/world\/v1\.0\//);
      await assert.rejects(opened.read(path), notFound, path);
      await assert.rejects(opened.stream(path), notFound, path);
    }
    opened.release();
  });

  test('an open package stays what it was until its release', async (storage) => {
    await using shelf = await storage.open();
    const files = filesOf(ID, { 'a.js': 'first', large: 'x'.repeat(2 ** 20 + 1) });
    const entry = await put(shelf, ID, files);
    const first = await open(shelf, ID);
    const again = await open(shelf, ID);
    await put(shelf, ID, filesOf(ID, { 'a.js': 'second' }));
    await shelf.replaceMetadata(koId(ID), '{"later":true}');
    const second = await open(shelf, ID);
    await shelf.remove(koId(ID));
    again.release();
    again.release();
    assert.equal(await shelf.open(koId(ID)), undefined);
    assert.deepEqual(first.entry, entry);
    assert.deepEqual(await contentOf(first), files);
    assert.equal((await buffer(await first.stream('large', { start: 0, end: 9 }))).toString(), 'xxxxxxxxxx');
    assert.deepEqual(await contentOf(second), { 'a.js': 'second', 'metadata.json': '{"later":true}' });
    first.release();
    second.release();
  });

  test('a stream that was begun goes on after the release and the end of its package', async (storage) => {
    await using shelf = await storage.open();
    const large = randomBytes(4 * 2 ** 20);
    await put(shelf, ID, filesOf(ID, { large }));
    const opened = await open(shelf, ID);
    const stream = await opened.stream('large');
    opened.release();
    await shelf.remove(koId(ID));
    assert.ok(large.equals(await buffer(stream)));
  });

  test('a package can be opened again after it was removed and imported anew', async (storage) => {
    await using shelf = await storage.open();
    const first = await put(shelf, ID);
    const held = await open(shelf, ID);
    await shelf.remove(koId(ID));
    assert.deepEqual(await put(shelf, ID), first);
    held.release();
    assert.deepEqual(await contentOn(shelf, ID), filesOf(ID));
  });
}
