import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { Bench } from '../../../test/archives/bench.ts';
import { koFiles, zipOf } from '../../../test/archives/ko.ts';
import { importZip } from './import-zip.ts';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());

const id = 'a/b/v1.0';

test('an import of the same id replaces the whole package', async () => {
  await bench.import(zipOf(koFiles({ id, files: { 'old.txt': 'old' } })));
  const { metadata } = await bench.import(
    zipOf(koFiles({ id, metadata: { title: 'New' }, files: { 'new.txt': 'new' } })),
  );
  assert.match(metadata, /"title": "New"/);
  assert.deepEqual(
    [...(await bench.contents(id)).keys()],
    ['deployment.yaml', 'metadata.json', 'new.txt', 'service.yaml', 'src/index.js'],
  );
});

test('an import that fails late leaves the old package as it was', async () => {
  await bench.import(zipOf(koFiles({ id })));
  const before = await bench.contents(id);
  await bench.refuses(
    zipOf(koFiles({ id, metadata: { title: 'Never' }, files: { 'src/index.js': undefined } })),
    /src\/index\.js/,
  );
  assert.deepEqual(await bench.contents(id), before);
});

test('an upload that breaks off leaves nothing, and its error comes through', async () => {
  const broken = new Error('the client went away');
  const zip = zipOf(koFiles({ id: 'a/c/v1.0' }));
  const upload = Readable.from(
    (function* () {
      yield zip.subarray(0, 100);
      throw broken;
    })(),
    { objectMode: false },
  );
  await assert.rejects(importZip(upload, bench.target()), broken);
  assert.deepEqual(await bench.staged(), []);
});

test('no import keeps a file open', async () => {
  const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  const good = zipOf(koFiles({ id }));
  await bench.import(good);
  const before = await openFiles();
  for (let i = 0; i < 10; i++) {
    await bench.import(good);
    await assert.rejects(bench.import(good.subarray(0, -1)));
    await assert.rejects(bench.import(zipOf(koFiles({ service: '' }))));
  }
  assert.equal(await openFiles(), before);
});
