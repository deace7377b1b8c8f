import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { fromRandomAccessReaderPromise } from 'yauzl';
import { messageOf, ServiceError } from '../../lib/errors.ts';
import { readContent } from './content.ts';
import { readEndRecord } from './end-record.ts';
import { isContent } from '../archive/archive.ts';
import type { Archive, ArchiveLimits, UnpackedFile } from '../archive/archive.ts';
import { checkEntries } from '../archive/check-entries.ts';
import { checkEntry } from './entry-rules.ts';
import type { CheckedEntry } from './entry-rules.ts';
import { FileReader } from './file-reader.ts';
import { placeEntries } from './layout.ts';
import type { PlacedEntry } from './layout.ts';
import { archiveRefused, refused } from './refusal.ts';

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
