import { open, type FileHandle } from 'node:fs/promises';
import { Readable, pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { fromRandomAccessReaderPromise } from 'yauzl';
import { messageOf, ServiceError } from '../../lib/errors.ts';
import { readEndRecord, FileReader, placeEntries, type PlacedEntry } from './layout.ts';
import { isContent, checkEntries, type Archive, type ArchiveLimits, type UnpackedFile } from '../archive/archive.ts';
import { checkEntry, archiveRefused, refused, entryRefused, type CheckedEntry } from './entry-rules.ts';

/**
 * Opens a zip file and checks all of it but the contents of its files.
 * @throws importRefused with the reason, and the entry where it is one.
 */
export async function openZip(file: string, limits: ArchiveLimits): Promise<Archive> {
  const handle = await open(file, 'r');
  try {
    return await readArchive(handle, limits);
  } catch (thrown) {
    await handle.close();
    if (thrown instanceof ServiceError || isSystemError(thrown)) throw thrown;
    throw archiveRefused(`cannot be read: ${messageOf(thrown)}`, thrown);
  }
}

const isSystemError = (thrown: unknown): boolean => thrown instanceof Error && 'syscall' in thrown;

async function readArchive(handle: FileHandle, limits: ArchiveLimits): Promise<Archive> {
  const { size } = await handle.stat();
  const reader = new FileReader(handle, size);
  const end = await readEndRecord(reader, size);
  if (end.entries === 0) throw archiveRefused('holds no files');
  if (end.entries > limits.entries) {
    throw archiveRefused(`has ${end.entries} entries; a package may have ${limits.entries}`);
  }
  const zip = await fromRandomAccessReaderPromise(reader, size, OUR_OWN_RULES);
  const entries: CheckedEntry[] = [];
  let directorySize = 0;
  for await (const header of zip.eachEntry()) {
    directorySize += CENTRAL_HEADER_BYTES + header.fileNameLength + header.extraFieldLength + header.fileCommentLength;
    entries.push(checkEntry(header, limits));
  }
  if (directorySize !== end.directorySize) throw archiveRefused('has more entries than its end record says');
  checkEntries(entries, limits, refused);
  return archiveOf(handle, await placeEntries(entries, end, zip, reader));
}

// Names, sizes and closing are looked after here.
const OUR_OWN_RULES = { autoClose: false, decodeStrings: false, validateEntrySizes: false };

const CENTRAL_HEADER_BYTES = 46;

function archiveOf(handle: FileHandle, placed: readonly PlacedEntry[]): Archive {
  const files = placed.filter(({ name, isFolder }) => !isFolder && isContent(name));
  return {
    kind: 'zip',
    entries: files.map(({ name, size }) => ({ path: name, size })),
    unpack: () => unpack(handle, files),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function* unpack(handle: FileHandle, files: readonly PlacedEntry[]): AsyncGenerator<UnpackedFile> {
  await Promise.resolve();
  for (const entry of files) yield { path: entry.name, size: entry.size, content: readContent(handle, entry) };
}

/** The unpacked bytes of an entry; fails with importRefused as soon as they are not what the archive says. */
const readContent = (handle: FileHandle, entry: PlacedEntry): Readable =>
  Readable.from(unpacked(handle, entry), { objectMode: false });

async function* unpacked(handle: FileHandle, entry: PlacedEntry): AsyncGenerator<Buffer> {
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
