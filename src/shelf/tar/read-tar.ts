import { bytes, refusalsOf } from '../archive/archive.ts';
import type { ArchiveLimits } from '../archive/archive.ts';
import { tooLarge } from '../archive/check-entries.ts';
import type { NamedEntry } from '../archive/check-entries.ts';
import { ByteReader } from './byte-reader.ts';
import { BLOCK_BYTES, entryName, isZero, readHeader } from './header.ts';
import type { Header } from './header.ts';
import { SPARSE, readExtended } from './pax.ts';

const refused = refusalsOf('tar');

export interface TarEntry extends NamedEntry {
  /** Its bytes; what is left of them is passed over when the next entry is asked for. */
  readonly content: () => AsyncGenerator<Buffer>;
}

const KINDS: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a device',
  '4': 'a device',
  '6': 'a pipe',
  K: 'a link',
};

const MAX_EXTENDED_BYTES = 64 * 1024;
/** What a tape drive writes at once, at most; nothing but zeros. */
const MAX_PADDING_BYTES = 2 ** 20;

/**
 * The entries of a tar, one after the other; all sizes are held to the limits before anything of them is read.
 * @throws importRefused for what is no plain file or folder, or what readers understand in different ways.
 */
export async function* readTar(source: AsyncIterable<Buffer>, limits: ArchiveLimits): AsyncGenerator<TarEntry> {
  await using reader = new ByteReader(source);
  let entries = 0;
  let total = 0;
  for (;;) {
    const described = await nextEntry(reader);
    if (described === undefined) break;
    const { header, path } = described;
    const entry = checkedEntry(header, path, limits);
    if (++entries > limits.entries)
      throw refused.archive(`has more than the ${limits.entries} entries that a package may have`);
    total += entry.size;
    if (total > limits.unpacked) throw refused.archive(tooLarge(total, limits));
    let left = entry.size;
    const content = async function* (): AsyncGenerator<Buffer> {
      while (left > 0) {
        const chunk = await reader.upTo(left);
        if (chunk.length === 0) throw refused.entry(entry.name, 'is cut off');
        left -= chunk.length;
        yield chunk;
      }
    };
    // The root of the package itself.
    if (entry.name !== '') yield { ...entry, content };
    for await (const rest of content()) void rest;
    await reader.exactly(paddingOf(entry.size), () => refused.entry(entry.name, 'is cut off'));
  }
}

const paddingOf = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;

/** The next header with what those before it say of it; undefined at the end. */
async function nextEntry(reader: ByteReader): Promise<{ header: Header; path: Buffer | undefined } | undefined> {
  let extended: { header: Header; data: Buffer } | undefined;
  let longName: Buffer | undefined;
  let globals = 0;
  for (;;) {
    const cut = (): Error => refused.archive('is cut off: its end is missing');
    const block = await reader.exactly(BLOCK_BYTES, cut);
    if (isZero(block)) {
      if (extended !== undefined || longName !== undefined)
        throw refused.archive('has an extended header behind its last entry');
      await readEnd(reader, cut);
      return undefined;
    }
    const header = readHeader(block);
    const { type, shown, size } = header;
    if (!EXTENSIONS.has(type)) {
      const posix = extended === undefined ? {} : readExtended(extended.header, extended.data, header);
      if (posix.path !== undefined && longName?.equals(posix.path) === false)
        throw refused.entry(shown, 'has two different names');
      return { header, path: posix.path ?? longName };
    }
    if (size > MAX_EXTENDED_BYTES)
      throw refused.entry(shown, `has an extended header of ${bytes(size)}; it may have ${bytes(MAX_EXTENDED_BYTES)}`);
    const data = await reader.exactly(size, cut);
    await reader.exactly(paddingOf(size), cut);
    if (type === 'g') {
      if (++globals > 1) throw refused.entry(shown, 'has two global headers before one entry');
      readExtended(header, data);
    } else if (type === 'x' && extended === undefined) extended = { header, data };
    else if (type === 'L' && longName === undefined) longName = nameIn(data, shown);
    else throw refused.entry(shown, 'has two extended headers of one kind');
  }
}

const EXTENSIONS: ReadonlySet<string> = new Set(['x', 'g', 'L']);

/** As GNU writes it, with a NUL at its end. */
function nameIn(data: Buffer, shown: string): Buffer {
  const end = data.indexOf(0);
  if (end >= 0 && !isZero(data.subarray(end))) throw refused.entry(shown, 'has bytes behind the end of its name');
  return end < 0 ? data : data.subarray(0, end);
}

/** Two blocks of zeros, and zeros up to the size in which the archive is written. */
async function readEnd(reader: ByteReader, cut: () => Error): Promise<void> {
  if (!isZero(await reader.exactly(BLOCK_BYTES, cut))) throw refused.archive('has an empty header between its entries');
  let padding = 0;
  for (;;) {
    const chunk = await reader.upTo(BLOCK_BYTES * 128);
    if (chunk.length === 0) return;
    padding += chunk.length;
    if (!isZero(chunk)) throw refused.archive('has bytes behind its end: nothing must be added to it');
    if (padding > MAX_PADDING_BYTES)
      throw refused.archive(`has more than ${bytes(MAX_PADDING_BYTES)} of zeros behind its end`);
  }
}

function checkedEntry(header: Header, path: Buffer | undefined, limits: ArchiveLimits): NamedEntry {
  const { type, shown, size } = header;
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (kind !== undefined) throw refused.entry(shown, `is ${kind}: only files and folders can be stored`);
  if (type === 'S') throw refused.entry(shown, SPARSE);
  const isFolder = type === '5';
  if (!isFolder && type !== '0' && type !== '\0')
    throw refused.entry(shown, 'is of an unusual kind: only files and folders can be stored');
  const name = entryName(path ?? header.name, isFolder);
  if (!isFolder && name.endsWith('/')) throw refused.entry(name, 'is marked as a file but named as a folder');
  if (isFolder && size > 0) throw refused.entry(name, 'is a folder that holds data');
  if (size > limits.file) throw refused.entry(name, `unpacks to ${bytes(size)}; a file may have ${bytes(limits.file)}`);
  return { name, isFolder, size };
}
