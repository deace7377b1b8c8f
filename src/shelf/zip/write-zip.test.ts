import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { DEFAULT_PACKAGE_LIMITS } from '../archive/archive.ts';
import { openZip } from './open-zip.ts';
import { writeZip, type ZipSource } from './write-zip.ts';

const files: Record<string, Buffer> = {
  'b/größe.bin': randomBytes(200_000),
  'b.txt': Buffer.from('text '.repeat(10_000)),
  a: Buffer.alloc(0),
  'metadata.json': Buffer.from('{}'),
};

const sources = (chunk: number): ZipSource[] =>
  Object.entries(files).map(([path, content]) => ({
    path,
    content: path === 'metadata.json' ? content : () => Promise.resolve(inChunks(content, chunk)),
  }));

const inChunks = (content: Buffer, size: number): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(content.length / size) }, (_, i) => content.subarray(i * size, (i + 1) * size)),
    { objectMode: false },
  );

test('equal files give equal bytes, whatever their order, chunks, the clock and the time zone', async () => {
  const first = await buffer(writeZip(sources(65_536)));
  const zone = process.env.TZ;
  process.env.TZ = 'Pacific/Kiritimati';
  try {
    assert.ok(first.equals(await buffer(writeZip(sources(999).reverse()))));
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test('what is written is read back, sorted', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kgrid-zip-'));
  try {
    await writeFile(join(dir, 'x.zip'), await buffer(writeZip(sources(5_000))));
    await using zip = await openZip(join(dir, 'x.zip'), DEFAULT_PACKAGE_LIMITS);
    assert.deepEqual(
      zip.entries.map(({ path }) => path),
      ['a', 'b.txt', 'b/größe.bin', 'metadata.json'],
    );
    for await (const { path, content } of zip.unpack()) assert.deepEqual(await buffer(content), files[path]);
  } finally {
    await rm(dir, { recursive: true });
  }
});

test('a file that cannot be opened, or fails while it is read, fails the zip', async () => {
  const broken = new Error('damaged');
  const opens: ZipSource = { path: 'x', content: () => Promise.reject(broken) };
  await assert.rejects(buffer(writeZip([...sources(100), opens])), broken);
  const fails: ZipSource = {
    path: 'x',
    content: () =>
      Promise.resolve(
        new Readable({
          read() {
            this.destroy(broken);
          },
        }),
      ),
  };
  await assert.rejects(buffer(writeZip([fails, ...sources(100)])), broken);
});

test('files are read only as fast as the zip is, and let go when nobody wants it any more', async () => {
  let produced = 0;
  let opened = 0;
  const endless = new Readable({
    read() {
      produced += 65_536;
      this.push(randomBytes(65_536));
    },
  });
  const zip = writeZip([
    { path: 'endless', content: () => Promise.resolve(endless) },
    { path: 'later', content: () => Promise.resolve(inChunks(Buffer.from(String(++opened)), 1)) },
  ]);
  for await (const chunk of zip) {
    assert.ok(Buffer.isBuffer(chunk));
    break;
  }
  for (let i = 0; i < 20; i++) await setImmediate();
  assert.ok(produced < 3_000_000, `${produced} bytes read ahead`);
  assert.equal(endless.destroyed, true);
  assert.equal(opened, 0, 'the next file was not opened');
});
