import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { fromRandomAccessReaderPromise } from 'yauzl';
import { messageOf, ServiceError } from '../../lib/errors.ts';
import { readContent } from './content.ts';
import { readEndRecord } from './end-record.ts';
import { checkEntries, checkEntry } from './entry-rules.ts';
import type { CheckedEntry, ZipLimits } from './entry-rules.ts';
import { FileReader } from './file-reader.ts';
import { placeEntries } from './layout.ts';
import type { PlacedEntry } from './layout.ts';
import { archiveRefused } from './refusal.ts';

export type { ZipLimits };

/** One file of an archive. */
export interface ZipEntry {
  /** A checked relative path with `/` between its segments. */
  readonly path: string;
  /** Bytes, unpacked. */
  readonly size: number;
}

export interface ZipArchive extends AsyncDisposable {
  /** The files, in the order of the archive; folders, and what macOS adds (`__MACOSX/`, `.DS_Store`), are left out. */
  readonly entries: readonly ZipEntry[];
  /** The unpacked content. The stream fails with importRefused when it is not what the archive says (size, CRC). */
  open(entry: ZipEntry): Readable;
}

/**
 * Opens a zip file and checks all of it but the contents of its files.
 * @throws importRefused with the reason, and the entry where it is one.
 */
export async function openZip(file: string, limits: ZipLimits): Promise<ZipArchive> {
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

async function readArchive(handle: FileHandle, limits: ZipLimits): Promise<ZipArchive> {
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
  checkEntries(entries, limits);
  return archiveOf(handle, await placeEntries(entries, end, zip, reader));
}

// Names, sizes and closing are looked after here.
const OUR_OWN_RULES = { autoClose: false, decodeStrings: false, validateEntrySizes: false };

const CENTRAL_HEADER_BYTES = 46;

function archiveOf(handle: FileHandle, placed: readonly PlacedEntry[]): ZipArchive {
  const files = new Map(placed.filter(isContent).map((entry) => [entry.name, entry]));
  return {
    entries: [...files.values()].map(({ name, size }) => ({ path: name, size })),
    open: ({ path }) => {
      const entry = files.get(path);
      if (entry === undefined) throw new Error(`No such entry: ${path}`);
      return readContent(handle, entry);
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** "`__MACOSX/`, `.DS_Store` ignored": what macOS adds to a folder that it zips. */
const isContent = ({ name, isFolder }: CheckedEntry): boolean =>
  !isFolder && !name.startsWith('__MACOSX/') && !/(?:^|\/)\.DS_Store$/.test(name);
