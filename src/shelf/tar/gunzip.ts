import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { refusalsOf } from '../archive/archive.ts';

const MAX_HEADER_BYTES = 64 * 1024;
const FIXED_BYTES = 10;
const TRAILER_BYTES = 8;
const DEFLATE = 8;
const HEADER_CRC = 2;
const EXTRA = 4;
const NAME = 8;
const COMMENT = 16;
const RESERVED = 0xe0;
const CHUNK_BYTES = 64 * 1024;

const refused = refusalsOf('tar');

export const isGzip = (head: Buffer): boolean => head.length >= 2 && head[0] === 0x1f && head[1] === 0x8b;

/**
 * The bytes of a file that is one member of gzip and nothing else: readers differ in what they make of what comes behind
 * it, such as further members, so that it would be one package here and another one elsewhere. @throws importRefused.
 */
export async function* gunzip(handle: FileHandle, fileSize: number): AsyncGenerator<Buffer> {
  const start = await headerSize(handle);
  const end = fileSize - TRAILER_BYTES;
  if (end <= start) throw refused.archive(CUT_OFF);
  const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES });
  let crc = 0;
  let size = 0;
  try {
    for await (const chunk of pipeline(
      readFrom(handle, start, end),
      inflate,
      () => undefined,
    ) as AsyncIterable<Buffer>) {
      crc = crc32(chunk, crc);
      size += chunk.length;
      yield chunk;
    }
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
    if (code === 'Z_BUF_ERROR') throw refused.archive(CUT_OFF, thrown);
    throw code.startsWith('Z_') ? refused.archive('is damaged: it cannot be unpacked', thrown) : thrown;
  }
  if (inflate.bytesWritten !== end - start)
    throw refused.archive('has bytes behind its gzip data: it must be compressed at once, and nothing be added');
  const trailer = await readAt(handle, end, TRAILER_BYTES);
  if (trailer.readUInt32LE(0) !== crc || trailer.readUInt32LE(4) !== size % 2 ** 32)
    throw refused.archive('is damaged: its CRC or size is not what its end says');
}

const CUT_OFF = 'is cut off: its gzip data has no end';

/** Bytes before the packed data. */
async function headerSize(handle: FileHandle): Promise<number> {
  const head = await readAt(handle, 0, MAX_HEADER_BYTES);
  if (head.length < FIXED_BYTES) throw refused.archive(CUT_OFF);
  const flags = head[3] ?? 0;
  if (head[2] !== DEFLATE || (flags & RESERVED) !== 0) throw refused.archive('is damaged: its gzip header is none');
  let at = FIXED_BYTES;
  if ((flags & EXTRA) !== 0) at += 2 + (at + 2 <= head.length ? head.readUInt16LE(at) : MAX_HEADER_BYTES);
  for (const text of [NAME, COMMENT]) {
    if ((flags & text) === 0) continue;
    const nul = head.indexOf(0, at);
    at = nul < 0 ? MAX_HEADER_BYTES : nul + 1;
  }
  if ((flags & HEADER_CRC) !== 0) at += 2;
  if (at >= head.length) throw refused.archive('is damaged: its gzip header has no end');
  return at;
}

/** A read stream would close the file when it is given up. */
export async function* readFrom(handle: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end;) {
    const chunk = await readAt(handle, at, Math.min(CHUNK_BYTES, end - at));
    if (chunk.length === 0) return;
    at += chunk.length;
    yield chunk;
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
