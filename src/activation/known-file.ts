/** The form in which `known-packages` is kept: records one after another, so that a change costs what it adds. */
import { crc32 } from 'node:zlib';

/** `value` is empty but for readings. */
export interface KnownRecord {
  readonly kind: Kind;
  readonly key: string;
  readonly value: Buffer;
}

const KINDS = ['version', 'reading', 'loads', 'no longer loads'] as const;
type Kind = (typeof KINDS)[number];

/** Bytes: the length of all that follows, its check sum, the kind, the length of the key. */
const HEADER_BYTES = 4 + 4 + 1 + 2;
const SUM_AT = 4;
const KIND_AT = 8;
const LENGTH_AT = 9;

export function encodeRecord({ kind, key, value }: KnownRecord): Buffer {
  const name = Buffer.from(key);
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32LE(HEADER_BYTES - 4 + name.length + value.length, 0);
  head.writeUInt8(KINDS.indexOf(kind), KIND_AT);
  head.writeUInt16LE(name.length, LENGTH_AT);
  const record = Buffer.concat([head, name, value]);
  record.writeUInt32LE(crc32(record.subarray(KIND_AT)), SUM_AT);
  return record;
}

/** The records up to the first that is not as it was written. @returns `isWhole` false where something follows them. */
export function decodeRecords(bytes: Buffer): { readonly records: KnownRecord[]; readonly isWhole: boolean } {
  const records: KnownRecord[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const end = at + 4 + bytes.readUInt32LE(at);
    const kind = KINDS[bytes.readUInt8(at + KIND_AT)];
    const value = at + HEADER_BYTES + bytes.readUInt16LE(at + LENGTH_AT);
    if (kind === undefined || end > bytes.length || value > end) break;
    if (crc32(bytes.subarray(at + KIND_AT, end)) !== bytes.readUInt32LE(at + SUM_AT)) break;
    records.push({ kind, key: bytes.toString('utf8', at + HEADER_BYTES, value), value: bytes.subarray(value, end) });
    at = end;
  }
  return { records, isWhole: at === bytes.length };
}
