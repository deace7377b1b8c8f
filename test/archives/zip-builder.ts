/** Writes zip files byte by byte, so that a test can make each of their fields lie. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface Headers {
  name?: string | Buffer;
  flags?: number;
  method?: number;
  crc?: number;
  compressedSize?: number;
  size?: number;
  extra?: Buffer;
}

/** One entry; what is not given is made as an honest tool would. Fields beside `local` are of both headers. */
export interface EntrySpec extends Headers {
  name: string | Buffer;
  data?: Buffer | string;
  /** The bytes between the headers, in place of `data` (compressed by `method`). */
  raw?: Buffer;
  /** What the local header says differently. */
  local?: Headers;
  /** What the central directory says differently. */
  central?: Headers;
  /** Bytes after the data: a data descriptor, or anything else. */
  trailer?: Buffer;
  /** Bytes before the local header. */
  gap?: Buffer;
  /** The offset of the local header that the central directory names. */
  offset?: number;
  /** Only in the central directory. */
  withoutLocal?: boolean;
  /** Only as local header and data. */
  withoutCentral?: boolean;
  /** Upper half of the external attributes, such as `0o100644`. */
  mode?: number;
  madeBy?: number;
  diskStart?: number;
  comment?: Buffer;
}

export interface ArchiveSpec {
  prepended?: Buffer;
  appended?: Buffer;
  comment?: Buffer;
  /** Added to every offset in the central directory and to the directory's own offset. */
  shift?: number;
  /** Between the data and the central directory, and between that and the end record. */
  beforeDirectory?: Buffer;
  afterDirectory?: Buffer;
  end?: Partial<EndRecord>;
  /** Writes the zip64 end record and its locator; the numbers are what they say differently. */
  zip64?: Partial<EndRecord> & { recordOffset?: number | bigint; recordSize?: number; disks?: number };
}

export interface EndRecord {
  disk: number;
  directoryDisk: number;
  entriesOnDisk: number;
  entries: number | bigint;
  directorySize: number | bigint;
  directoryOffset: number | bigint;
  commentLength: number;
}

export const FILE_MODE = 0o100644;

export function buildZip(entries: readonly EntrySpec[], archive: ArchiveSpec = {}): Buffer {
  const parts: Buffer[] = [];
  const shift = archive.shift ?? 0;
  let cursor = 0;
  const put = (part: Buffer): void => {
    parts.push(part);
    cursor += part.length;
  };
  const directory: Buffer[] = [];
  for (const entry of entries) {
    const content = Buffer.from(entry.data ?? '');
    const method = entry.method ?? 0;
    const raw = entry.raw ?? (method === 8 ? deflateRawSync(content) : content);
    const honest = { flags: 0, method, crc: crc32(content), compressedSize: raw.length, size: content.length };
    const own = { ...honest, ...defined(entry) };
    if (entry.gap !== undefined) put(entry.gap);
    const offset = cursor + shift;
    if (entry.withoutLocal !== true) {
      put(localHeader({ ...own, ...entry.local }));
      put(raw);
      put(entry.trailer ?? Buffer.alloc(0));
    }
    if (entry.withoutCentral === true) continue;
    directory.push(centralHeader({ ...own, ...entry.central }, { ...entry, offset: entry.offset ?? offset }));
  }
  put(archive.beforeDirectory ?? Buffer.alloc(0));
  const directoryOffset = cursor + shift;
  for (const header of directory) put(header);
  const honestEnd: EndRecord = {
    disk: 0,
    directoryDisk: 0,
    entriesOnDisk: directory.length,
    entries: directory.length,
    directorySize: cursor + shift - directoryOffset,
    directoryOffset,
    commentLength: archive.comment?.length ?? 0,
  };
  put(archive.afterDirectory ?? Buffer.alloc(0));
  if (archive.zip64 !== undefined) put(zip64End({ ...honestEnd, ...archive.zip64 }, cursor + shift));
  put(endRecord({ ...honestEnd, ...archive.end }));
  put(archive.comment ?? Buffer.alloc(0));
  return Buffer.concat([archive.prepended ?? Buffer.alloc(0), ...parts, archive.appended ?? Buffer.alloc(0)]);
}

const HEADER_KEYS = ['name', 'flags', 'method', 'crc', 'compressedSize', 'size', 'extra'] as const;
const defined = (entry: Headers & { name: string | Buffer }): Headers & { name: string | Buffer } => ({
  ...(Object.fromEntries(HEADER_KEYS.filter((k) => entry[k] !== undefined).map((k) => [k, entry[k]])) as Headers),
  name: entry.name,
});

type Full = Required<Omit<Headers, 'extra'>> & { extra?: Buffer };

function localHeader(header: Full): Buffer {
  const name = Buffer.from(header.name);
  const extra = header.extra ?? Buffer.alloc(0);
  return Buffer.concat([u32(0x04034b50), u16(45), ...common(header), u16(name.length), u16(extra.length), name, extra]);
}

function centralHeader(header: Full, entry: EntrySpec & { offset: number }): Buffer {
  const name = Buffer.from(header.name);
  const extra = header.extra ?? Buffer.alloc(0);
  const comment = entry.comment ?? Buffer.alloc(0);
  return Buffer.concat([
    u32(0x02014b50),
    u16(entry.madeBy ?? 0x031e),
    u16(45),
    ...common(header),
    ...[name.length, extra.length, comment.length, entry.diskStart ?? 0, 0].map(u16),
    u32(((entry.mode ?? FILE_MODE) << 16) >>> 0),
    u32(entry.offset),
    name,
    extra,
    comment,
  ]);
}

/** From the flags to the sizes, alike in both headers; the time is 1980-01-01 00:00. */
const common = (header: Full): Buffer[] => [
  u16(header.flags),
  u16(header.method),
  u16(0),
  u16(0x21),
  u32(header.crc),
  u32(header.compressedSize),
  u32(header.size),
];

const endRecord = (end: EndRecord): Buffer =>
  Buffer.concat([
    u32(0x06054b50),
    ...[end.disk, end.directoryDisk, end.entriesOnDisk, Number(end.entries)].map(u16),
    ...[end.directorySize, end.directoryOffset].map((n) => u32(Number(n))),
    u16(end.commentLength),
  ]);

function zip64End(end: EndRecord & NonNullable<ArchiveSpec['zip64']>, offset: number): Buffer {
  const record = [u64(end.recordSize ?? 44), u16(45), u16(45), u32(end.disk), u32(end.directoryDisk)];
  const numbers = [end.entriesOnDisk, end.entries, end.directorySize, end.directoryOffset].map(u64);
  const locator = [u32(0x07064b50), u32(0), u64(end.recordOffset ?? offset), u32(end.disks ?? 1)];
  return Buffer.concat([u32(0x06064b50), ...record, ...numbers, ...locator]);
}

export interface DescriptorSpec {
  crc: number;
  compressedSize: number;
  size: number;
  signature?: boolean;
  zip64?: boolean;
}

export function dataDescriptor({ crc, compressedSize, size, signature = true, zip64 = false }: DescriptorSpec): Buffer {
  const sizes = [compressedSize, size].map(zip64 ? u64 : u32);
  return Buffer.concat([...(signature ? [u32(0x08074b50)] : []), u32(crc), ...sizes]);
}

/** An extra field. */
export const extraField = (id: number, data: Buffer): Buffer => Buffer.concat([u16(id), u16(data.length), data]);

export const zip64Extra = (...values: (number | bigint)[]): Buffer =>
  extraField(0x0001, Buffer.concat(values.map(u64)));

/** The "Unicode path" extra field, for a header whose name is `name`. */
export const unicodePath = (name: string | Buffer, path: string | Buffer, crc = crc32(Buffer.from(name))): Buffer =>
  extraField(0x7075, Buffer.concat([Buffer.from([1]), u32(crc), Buffer.from(path)]));

export const u16 = (n: number): Buffer => {
  const out = Buffer.alloc(2);
  out.writeUInt16LE(n & 0xffff);
  return out;
};
export const u32 = (n: number): Buffer => {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(n >>> 0);
  return out;
};
export const u64 = (n: number | bigint): Buffer => {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(n));
  return out;
};
