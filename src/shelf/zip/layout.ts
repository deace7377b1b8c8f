import type { FileHandle } from 'node:fs/promises';
import { parseExtraFields, RandomAccessReader, type LocalFileHeader, type ZipFile } from 'yauzl';
import { unicodePath, archiveRefused, entryRefused, type CheckedEntry } from './entry-rules.ts';

/** An entry whose bytes lie at a known place, shared with no other. */
export interface PlacedEntry extends CheckedEntry {
  /** Where the compressed bytes start in the file. */
  readonly dataStart: number;
}

/**
 * Checks that the archive is its entries, one behind the other, and nothing else, and that each local header says
 * what the central directory says. So no byte counts twice, as in overlapping bombs, and no other reader can see
 * other files in it.
 * @throws importRefused
 */
export async function placeEntries(
  entries: readonly CheckedEntry[],
  { directoryOffset }: EndRecord,
  zip: ZipFile,
  reader: FileReader,
): Promise<PlacedEntry[]> {
  const sorted = [...entries].sort((a, b) => a.headerOffset - b.headerOffset);
  const placed: PlacedEntry[] = [];
  let cursor = 0;
  for (const [i, entry] of sorted.entries()) {
    if (entry.headerOffset > directoryOffset) throw entryRefused(entry.name, 'lies outside the data of the zip');
    if (entry.headerOffset < cursor) throw entryRefused(entry.name, 'overlaps another entry');
    if (entry.headerOffset > cursor) throw archiveRefused(strayBytes(sorted[i - 1]));
    const local = await zip.readLocalFileHeaderPromise(entry.header).catch((cause: unknown) => {
      throw entryRefused(entry.name, 'has no readable header where the central directory says', cause);
    });
    const dataEnd = local.fileDataStart + entry.compressedSize;
    const next = sorted[i + 1]?.headerOffset ?? directoryOffset;
    if (dataEnd > next) {
      throw entryRefused(
        entry.name,
        i + 1 < sorted.length ? 'overlaps another entry' : 'reaches into the central directory',
      );
    }
    const hasDescriptor = (local.generalPurposeBitFlag & DESCRIPTOR_FOLLOWS) !== 0 && next > dataEnd;
    checkLocalHeader(entry, local, hasDescriptor);
    if (hasDescriptor) checkDescriptor(entry, await reader.bytes(dataEnd, next - dataEnd > 24 ? 0 : next - dataEnd));
    cursor = hasDescriptor ? next : dataEnd;
    placed.push({ ...entry, dataStart: local.fileDataStart });
  }
  if (cursor < directoryOffset) throw archiveRefused(strayBytes(sorted.at(-1)));
  return placed;
}

const strayBytes = (before: CheckedEntry | undefined): string =>
  before === undefined
    ? 'has bytes before its first entry'
    : 'has bytes between its entries that belong to none of them';

const DESCRIPTOR_FOLLOWS = 0x0008;
const ENCRYPTED = 0x0001;
const UNKNOWN_32 = 0xffffffff;

function checkLocalHeader(entry: CheckedEntry, local: LocalFileHeader, hasDescriptor: boolean): void {
  const contradicts = (what: string): never => {
    throw entryRefused(entry.name, `has two headers that contradict each other (${what})`);
  };
  if (!local.fileName.equals(entry.header.fileNameRaw)) contradicts('name');
  const fields = extraFields(entry, local);
  const unicode = unicodePath(local.fileName, fields);
  if (unicode !== undefined && unicode.toString() !== entry.name) contradicts('Unicode name');
  if (local.compressionMethod !== entry.method) contradicts('method');
  if (((local.generalPurposeBitFlag ^ entry.header.generalPurposeBitFlag) & ENCRYPTED) !== 0) contradicts('encryption');
  // "If bit 3 is set, the fields crc-32, compressed size and uncompressed size are set to zero in the local header."
  const agrees = (said: number, real: number): boolean => said === real || (hasDescriptor && said === 0);
  const [long] = fields.filter(({ id }) => id === ZIP64_FIELD);
  const sizeAgrees = (said: number, real: number, at: number): boolean =>
    said === UNKNOWN_32 && long !== undefined && long.data.length >= at + 8
      ? agrees(Number(long.data.readBigUInt64LE(at)), real)
      : agrees(said, real) || (hasDescriptor && said === UNKNOWN_32);
  if (!agrees(local.crc32, entry.crc)) contradicts('CRC');
  if (!sizeAgrees(local.uncompressedSize, entry.size, 0)) contradicts('size');
  const at = local.uncompressedSize === UNKNOWN_32 ? 8 : 0;
  if (!sizeAgrees(local.compressedSize, entry.compressedSize, at)) contradicts('compressed size');
}

const ZIP64_FIELD = 0x0001;

function extraFields(entry: CheckedEntry, local: LocalFileHeader): ReturnType<typeof parseExtraFields> {
  try {
    return parseExtraFields(local.extraField);
  } catch (cause) {
    throw entryRefused(entry.name, 'has damaged extra fields in its header', cause);
  }
}

const DESCRIPTOR = 0x08074b50;

/** CRC and sizes behind the data, with or without a signature, with sizes of 4 or 8 bytes. */
function checkDescriptor(entry: CheckedEntry, found: Buffer): void {
  const signature = Buffer.alloc(4);
  signature.writeUInt32LE(DESCRIPTOR);
  const crc = Buffer.alloc(4);
  crc.writeUInt32LE(entry.crc);
  const sizes = [entry.compressedSize, entry.size];
  const short = Buffer.from(Uint32Array.from(sizes).buffer);
  const long = Buffer.from(BigUint64Array.from(sizes.map(BigInt)).buffer);
  const forms = [short, long].flatMap((form) => [Buffer.concat([crc, form]), Buffer.concat([signature, crc, form])]);
  if (!forms.some((form) => form.equals(found))) {
    throw entryRefused(entry.name, 'is followed by something else than its data descriptor');
  }
}

/** Where the central directory lies and how many entries it has, agreed on by all records that say so. */
interface EndRecord {
  readonly entries: number;
  readonly directoryOffset: number;
  readonly directorySize: number;
}

const END = 0x06054b50;
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const LOCATOR = 0x07064b50;
const LOCATOR_BYTES = 20;
const ZIP64_END = 0x06064b50;
const ZIP64_END_BYTES = 56;

/**
 * Reads the end of the archive, which says where everything else is. Readers differ in what they make of an
 * archive whose records contradict each other, so that it would be one package here and another one elsewhere:
 * none is accepted.
 * @throws importRefused
 */
export async function readEndRecord(reader: FileReader, fileSize: number): Promise<EndRecord> {
  if (fileSize === 0) throw archiveRefused('is empty');
  const tailStart = Math.max(0, fileSize - MAX_COMMENT_BYTES - END_BYTES - LOCATOR_BYTES);
  const tail = await reader.bytes(tailStart, fileSize - tailStart);
  const at = findEnd(tail);
  if (at === undefined) throw archiveRefused(await whyNoEnd(reader, fileSize));

  const [disk = 0, directoryDisk = 0, entriesOnDisk = 0, entries = 0] = [4, 6, 8, 10].map((n) =>
    tail.readUInt16LE(at + n),
  );
  const end = {
    entries,
    directorySize: tail.readUInt32LE(at + 12),
    directoryOffset: tail.readUInt32LE(at + 16),
  };
  const isZip64 = at >= LOCATOR_BYTES && tail.readUInt32LE(at - LOCATOR_BYTES) === LOCATOR;
  const zip64 = isZip64
    ? await readZip64(reader, tail.subarray(at - LOCATOR_BYTES, at), tailStart + at - LOCATOR_BYTES)
    : undefined;

  const fits = (value: number, limit: number, long: number | undefined): boolean =>
    long === undefined ? true : value === limit || value === long;
  if (
    !fits(end.entries, 0xffff, zip64?.entries) ||
    !fits(end.directorySize, 0xffffffff, zip64?.directorySize) ||
    !fits(end.directoryOffset, 0xffffffff, zip64?.directoryOffset)
  ) {
    throw archiveRefused('has two end records that contradict each other');
  }
  const diskIsFirst = (n: number): boolean => n === 0 || (zip64 !== undefined && n === 0xffff);
  if (!diskIsFirst(disk) || !diskIsFirst(directoryDisk) || entriesOnDisk !== entries) {
    throw archiveRefused('is one part of several: join them to one file');
  }
  const { start, ...record } = zip64 ?? { ...end, start: tailStart + at };
  if (record.directoryOffset + record.directorySize !== start) {
    throw archiveRefused(
      'does not have its central directory where its end record says: it is damaged, or bytes were added to it',
    );
  }
  return record;
}

/** The last end record; an archive whose comment could be read as another one is ambiguous. */
function findEnd(tail: Buffer): number | undefined {
  let found: number | undefined;
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== END) continue;
    const reachesEnd = at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length;
    if (found === undefined && !reachesEnd)
      throw archiveRefused('has more or fewer bytes behind its end record than that says');
    if (found !== undefined && reachesEnd) throw archiveRefused('has a second end record in its comment');
    found ??= at;
  }
  return found;
}

async function whyNoEnd(reader: FileReader, fileSize: number): Promise<string> {
  const start = await reader.bytes(0, Math.min(4, fileSize));
  return start.toString('latin1').startsWith('PK') ? 'is cut off: its end record is missing' : 'is not a zip file';
}

async function readZip64(
  reader: FileReader,
  locator: Buffer,
  locatorStart: number,
): Promise<EndRecord & { start: number }> {
  const start = u64(locator, 8);
  if (locator.readUInt32LE(4) !== 0 || locator.readUInt32LE(16) > 1)
    throw archiveRefused('is one part of several: join them to one file');
  if (start + ZIP64_END_BYTES > locatorStart) throw archiveRefused('has no zip64 end record where its locator says');
  const record = await reader.bytes(start, ZIP64_END_BYTES);
  if (record.readUInt32LE(0) !== ZIP64_END || start + 12 + u64(record, 4) !== locatorStart) {
    throw archiveRefused('has no zip64 end record where its locator says');
  }
  const entries = u64(record, 32);
  if (record.readUInt32LE(16) !== 0 || record.readUInt32LE(20) !== 0 || u64(record, 24) !== entries) {
    throw archiveRefused('is one part of several: join them to one file');
  }
  return { entries, directorySize: u64(record, 40), directoryOffset: u64(record, 48), start };
}

const u64 = (buffer: Buffer, at: number): number => Number(buffer.readBigUInt64LE(at));

const WINDOW_BYTES = 64 * 1024;

/**
 * Lets yauzl read an open file. The headers of an archive are many and small, and lie close together: they are
 * served out of one window of the file. A position that a header names is checked before it is used.
 */
export class FileReader extends RandomAccessReader {
  readonly #handle: FileHandle;
  readonly #size: number;
  #window = Buffer.alloc(0);
  #start = 0;

  constructor(handle: FileHandle, size: number) {
    super();
    this.#handle = handle;
    this.#size = size;
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.bytes(position, length).then(
      (found) => {
        found.copy(target, offset);
        callback(null);
      },
      (error: unknown) => callback(error as Error),
    );
  }

  /** @throws Error when the file has no such bytes. */
  async bytes(position: number, length: number): Promise<Buffer> {
    if (!(position >= 0 && position + length <= this.#size)) throw new Error('a record lies outside the file');
    if (position < this.#start || position + length > this.#start + this.#window.length) {
      const window = Buffer.alloc(Math.min(Math.max(WINDOW_BYTES, length), this.#size - position));
      const { bytesRead } = await this.#handle.read(window, 0, window.length, position);
      if (bytesRead < length) throw new Error('the file became shorter');
      this.#window = window.subarray(0, bytesRead);
      this.#start = position;
    }
    return this.#window.subarray(position - this.#start, position - this.#start + length);
  }
}
