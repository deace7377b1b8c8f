import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { openArchive } from '../archive/open-archive.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../archive/archive.ts';
import { writeTarGz, type TarSource } from './write-tar.ts';

const dir = await mkdtemp(join(tmpdir(), 'kgrid-tar-'));
after(() => rm(dir, { recursive: true }));

const files: Record<string, string> = {
  'metadata.json': '{}',
  b: '',
  'größe/日本.txt': 'x'.repeat(513),
  [`${'d/'.repeat(19)}${'f'.repeat(200)}`]: 'y'.repeat(512),
  [`${'f'.repeat(100)}`]: 'z',
  a: 'a'.repeat(200_000),
};
const sources = (names: readonly string[]): TarSource[] =>
  names.map((path) => {
    const content = Buffer.from(files[path] ?? '');
    return { path, size: content.length, content: () => Promise.resolve(Readable.from([content])) };
  });

test('what is written is read back, in order of path, and equal files give equal bytes', async () => {
  const tar = await buffer(writeTarGz(sources(Object.keys(files))));
  assert.deepEqual(await buffer(writeTarGz(sources(Object.keys(files).reverse()))), tar);
  await writeFile(join(dir, 'a.tar.gz'), tar);
  await using archive = await openArchive(join(dir, 'a.tar.gz'), DEFAULT_PACKAGE_LIMITS);
  assert.deepEqual(
    archive.entries.map(({ path }) => path),
    Object.keys(files).sort(),
  );
  const read: [string, string][] = [];
  for await (const { path, content } of archive.unpack()) read.push([path, (await buffer(content)).toString()]);
  assert.deepEqual(Object.fromEntries(read), files);
});

test('a file that fails, or has another size than it had, fails the whole', async () => {
  const broken = (content: () => Promise<Readable>): Promise<Buffer> =>
    buffer(writeTarGz([...sources(['a']), { path: 'z', size: 3, content }]));
  await assert.rejects(
    broken(() => Promise.reject(new Error('gone'))),
    /gone/,
  );
  await assert.rejects(
    broken(() => Promise.resolve(Readable.from([Buffer.from('four')]))),
    /z has 4 bytes and not 3/,
  );
});
