/** The form in which `known-packages` is kept: records one after another, so that a change costs what it adds. */

/** `value` is empty but for descriptors. */
export interface KnownRecord {
  readonly kind: Kind;
  readonly key: string;
  readonly value: Buffer;
}

const KINDS = ['version', 'descriptors', 'loads', 'no longer loads'] as const;
type Kind = (typeof KINDS)[number];

/** Bytes: the length of all that follows, the kind, the length of the key. */
const HEADER_BYTES = 4 + 1 + 2;

export function encodeRecord({ kind, key, value }: KnownRecord): Buffer {
  const name = Buffer.from(key);
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32LE(HEADER_BYTES - 4 + name.length + value.length, 0);
  head.writeUInt8(KINDS.indexOf(kind), 4);
  head.writeUInt16LE(name.length, 5);
  return Buffer.concat([head, name, value]);
}

/** The records up to the first that is not whole. @returns `isWhole` false where something follows them. */
export function decodeRecords(bytes: Buffer): { readonly records: KnownRecord[]; readonly isWhole: boolean } {
  const records: KnownRecord[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const end = at + 4 + bytes.readUInt32LE(at);
    const kind = KINDS[bytes.readUInt8(at + 4)];
    const value = at + HEADER_BYTES + bytes.readUInt16LE(at + 5);
    if (kind === undefined || end > bytes.length || value > end) break;
    records.push({ kind, key: bytes.toString('utf8', at + HEADER_BYTES, value), value: bytes.subarray(value, end) });
    at = end;
  }
  return { records, isWhole: at === bytes.length };
}
