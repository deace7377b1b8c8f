import type { FileHandle } from 'node:fs/promises';
import { Readable, pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import type { PlacedEntry } from './layout.ts';
import { entryRefused } from './refusal.ts';

/** The unpacked bytes of an entry; fails with importRefused as soon as they are not what the archive says. */
export const readContent = (handle: FileHandle, entry: PlacedEntry): Readable =>
  Readable.from(unpack(handle, entry), { objectMode: false });

async function* unpack(handle: FileHandle, entry: PlacedEntry): AsyncGenerator<Buffer> {
  let size = 0;
  let crc = 0;
  for await (const chunk of entry.method === 0 ? packed(handle, entry) : inflated(handle, entry)) {
    size += chunk.length;
    if (size > entry.size)
      throw entryRefused(entry.name, `is larger than the ${entry.size} bytes that its header says`);
    crc = crc32(chunk, crc);
    yield chunk;
  }
  if (size < entry.size) throw entryRefused(entry.name, `has ${size} bytes, but its header says ${entry.size}`);
  if (crc !== entry.crc) throw entryRefused(entry.name, 'is damaged: its CRC is not what its header says');
}

function packed(handle: FileHandle, { dataStart, compressedSize }: PlacedEntry): AsyncIterable<Buffer> {
  if (compressedSize === 0) return Readable.from([]);
  return handle.createReadStream({ start: dataStart, end: dataStart + compressedSize - 1, autoClose: false });
}

async function* inflated(handle: FileHandle, entry: PlacedEntry): AsyncGenerator<Buffer> {
  if (entry.compressedSize === 0) return;
  const inflate = createInflateRaw();
  try {
    yield* pipeline(packed(handle, entry), inflate, () => undefined) as AsyncIterable<Buffer>;
  } catch (thrown) {
    const isDamage = thrown instanceof Error && 'code' in thrown && String(thrown.code).startsWith('Z_');
    throw isDamage ? entryRefused(entry.name, 'is damaged: it cannot be unpacked', thrown) : thrown;
  }
  if (inflate.bytesWritten !== entry.compressedSize)
    throw entryRefused(entry.name, 'has bytes behind its compressed data');
}
