import { bytes, refusalsOf, tooLarge, type ArchiveLimits, type NamedEntry } from '../archive/archive.ts';
import { BLOCK_BYTES, entryName, isZero, readHeader, type Header } from './header.ts';

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

/** What an extended header of POSIX says of the next entry that matters here. */
interface Extended {
  readonly path?: Buffer;
}

const LINE_FEED = 0x0a;
const UTF8 = 'ISO-IR 10646 2000 UTF-8';

/** "%d %s=%s\n", the length of the whole record first. @throws importRefused for what changes what an entry is. */
function readExtended({ shown, size: headerSize, type }: Header, data: Buffer, next?: Header): Extended {
  const refuse = (why: string): never => {
    throw refused.entry(next?.shown ?? shown, why);
  };
  const found = new Map<string, Buffer>();
  for (let at = 0; at < headerSize;) {
    const [, length = '', key = ''] = RECORD.exec(data.toString('latin1', at, at + MAX_KEY_BYTES)) ?? [];
    const end = at + Number(length);
    const value = data.subarray(at + length.length + key.length + 2, end - 1);
    if (key === '' || end > data.length || value.length + length.length + key.length + 3 !== Number(length))
      return refuse('has a damaged extended header');
    if (data[end - 1] !== LINE_FEED) return refuse('has a damaged extended header');
    if (found.has(key)) return refuse(`has an extended header that says ${key} twice`);
    found.set(key, value);
    at = end;
  }
  if (type === 'g') {
    for (const key of found.keys())
      if (key !== 'comment') refuse(`is a global header that says ${key} of all entries: make the tar without it`);
    return {};
  }
  const text = (key: string): string | undefined => found.get(key)?.toString('latin1');
  for (const key of found.keys()) {
    if (key.startsWith('GNU.sparse.') || key === 'SCHILY.realsize') refuse(SPARSE);
    if (key === 'linkpath') refuse('is a link: only files and folders can be stored');
  }
  if (![undefined, UTF8].includes(text('hdrcharset'))) refuse('has a name that is not UTF-8');
  // Only sizes beyond 8 GB need it, and readers differ in which of two they take.
  if (next !== undefined && ![undefined, String(next.size)].includes(text('size'))) refuse('has two different sizes');
  const path = found.get('path');
  return path === undefined ? {} : { path };
}

const SPARSE = 'is a sparse file: make the tar without --sparse';
const MAX_KEY_BYTES = 300;
const RECORD = /^([1-9]\d{0,6}) ([^=\n\0]{1,200})=/;

/** Takes bytes from a source in the portions that are asked for, and holds no more than one chunk of it. */
class ByteReader implements AsyncDisposable {
  readonly #source: AsyncIterator<Buffer>;
  #chunk: Buffer = NOTHING;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** So many bytes. @throws what `cut` gives where there are fewer. */
  async exactly(count: number, cut: () => Error): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = count; left > 0;) {
      const part = await this.upTo(left);
      if (part.length === 0) throw cut();
      left -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);
  }

  /** Lets go of the source, also before its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.return?.();
  }

  /** Some bytes; none at the end. */
  async upTo(count: number): Promise<Buffer> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next();
      if (next.done === true) return NOTHING;
      this.#chunk = next.value;
    }
    const part = this.#chunk.subarray(0, count);
    this.#chunk = this.#chunk.subarray(part.length);
    return part;
  }
}

const NOTHING = Buffer.alloc(0);
