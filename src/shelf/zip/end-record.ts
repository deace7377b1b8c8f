import type { FileReader } from './file-reader.ts';
import { archiveRefused } from './refusal.ts';

/** Where the central directory lies and how many entries it has, agreed on by all records that say so. */
export interface EndRecord {
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
