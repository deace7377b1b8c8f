import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { failsWith } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { clearSpool, spool } from './spool.ts';

test('a stream is a file until its disposal, up to its limit', async () => {
  await using folder = await temporaryFolder();
  {
    await using file = await spool(folder.path, Readable.from([Buffer.alloc(60, 1), Buffer.alloc(40, 2)]), 100);
    assert.equal((await readFile(file.path)).length, 100);
  }
  const tooLarge = Readable.from([Buffer.alloc(100), Buffer.alloc(1)]);
  await assert.rejects(spool(folder.path, tooLarge, 100), failsWith('package-too-large', /100 bytes/));
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(2 ** 20);
    })(),
  );
  await assert.rejects(spool(folder.path, endless, 2 * 2 ** 20), failsWith('package-too-large', /2 MB/));
  assert.equal(endless.destroyed, true);
  assert.deepEqual(await readdir(folder.path), []);
});

test('a content that breaks off fails with its own error and leaves nothing', async () => {
  await using folder = await temporaryFolder();
  const broken = Object.assign(new Error('the client went away'), { code: 'ECONNRESET' });
  const content = Readable.from(
    (async function* () {
      yield await Promise.resolve(Buffer.from('half'));
      throw broken;
    })(),
  );
  await assert.rejects(spool(folder.path, content, 100), broken);
  assert.deepEqual(await readdir(folder.path), []);
});

test('a disk that refuses is told as by the shelf, and what was sent is not kept open', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  const content = Readable.from(['x']);
  await assert.rejects(spool(file, content, 10), failsWith('shelf-not-writable', /refused to write \(E[A-Z]+\)/));
  assert.equal(content.destroyed, true);
});

test('a folder that was deleted meanwhile is made again', async () => {
  await using folder = await temporaryFolder();
  await using file = await spool(join(folder.path, 'gone'), Readable.from(['x']), 10);
  assert.equal(await readFile(file.path, 'utf8'), 'x');
});

test('what a killed process left goes, and nothing else', async () => {
  await using folder = await temporaryFolder();
  await spool(folder.path, Readable.from(['left']), 10);
  await writeFile(join(folder.path, 'upload-of-a-person'), '');
  await mkdir(join(folder.path, 'packages'));
  await clearSpool(folder.path);
  assert.deepEqual((await readdir(folder.path)).sort(), ['packages', 'upload-of-a-person']);
});
