import type { Entry } from 'yauzl';
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { readName } from './entry-name.ts';
import { archiveRefused, bytes, entryRefused } from './refusal.ts';

/** All in bytes but `entries`, a count. */
export interface ZipLimits {
  readonly unpacked: number;
  readonly file: number;
  readonly entries: number;
}

/** One entry of the central directory that keeps the rules; the sizes are promises until the content is read. */
export interface CheckedEntry {
  /** As it is, with a `/` at the end for a folder. */
  readonly name: string;
  readonly isFolder: boolean;
  readonly method: number;
  readonly crc: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly headerOffset: number;
  /** As yauzl read it. */
  readonly header: Entry;
}

const STORED = 0;
const DEFLATED = 8;
const METHODS: Readonly<Record<number, string>> = {
  9: 'deflate64',
  12: 'bzip2',
  14: 'lzma',
  93: 'zstd',
  95: 'xz',
  98: 'ppmd',
  99: 'AES',
};

// Bits of the flags: encrypted, patch data, strong encryption, masked headers.
const ENCRYPTED = 0x0001 | 0x0040 | 0x2000;
const PATCH = 0x0020;

const TYPE_BITS = 0o170000;
const FILE = 0o100000;
const FOLDER = 0o040000;
const TYPES: Readonly<Record<number, string>> = {
  [0o120000]: 'a symbolic link',
  [0o010000]: 'a pipe',
  [0o020000]: 'a device',
  [0o060000]: 'a device',
  [0o140000]: 'a socket',
};

// Java writes folders as if they were compressed files; deflate makes 2 to 5 bytes of nothing.
const EMPTY_DEFLATED_BYTES = 16;
const MAX_RATIO = 200;
const RATIO_COUNTS_FROM_BYTES = 10 * 2 ** 20;

/** Checks what the central directory says of one entry. @throws importRefused */
export function checkEntry(header: Entry, limits: ZipLimits): CheckedEntry {
  const name = readName(header.fileNameRaw, header.generalPurposeBitFlag, header.extraFields);
  const { generalPurposeBitFlag: flags, compressionMethod: method, compressedSize, uncompressedSize: size } = header;
  const refuse = (why: string): never => {
    throw entryRefused(name, why);
  };
  if ((flags & ENCRYPTED) !== 0) refuse('is encrypted: zip it without a password');
  if ((flags & PATCH) !== 0) refuse('is a patch of another file');
  if (method !== STORED && method !== DEFLATED) {
    refuse(`is compressed by ${METHODS[method] ?? `method ${method}`}: use deflate, the usual method`);
  }
  const isFolder = name.endsWith('/');
  const type = (header.externalFileAttributes >>> 16) & TYPE_BITS;
  if (type !== 0 && type !== FILE && type !== FOLDER)
    refuse(`is ${TYPES[type] ?? 'no file'}: only files and folders can be stored`);
  if (type === FOLDER && !isFolder) refuse('is marked as a folder but named as a file');
  if (isFolder && (size > 0 || compressedSize > EMPTY_DEFLATED_BYTES || header.crc32 !== 0))
    refuse('is a folder that holds data');
  if (method === STORED && size !== compressedSize) refuse('is stored as it is but has two different sizes');
  if (size > limits.file) refuse(`unpacks to ${bytes(size)}; a file may have ${bytes(limits.file)}`);
  if (size > RATIO_COUNTS_FROM_BYTES && size > compressedSize * MAX_RATIO) {
    refuse(`unpacks to more than ${MAX_RATIO} times its size, as no honest file of ${bytes(size)} does`);
  }
  return {
    name,
    isFolder,
    method,
    crc: header.crc32,
    compressedSize,
    size,
    headerOffset: header.relativeOffsetOfLocalHeader,
    header,
  };
}

/** Checks the entries against each other. @throws importRefused */
export function checkEntries(entries: readonly CheckedEntry[], limits: ZipLimits): void {
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  if (total > limits.unpacked) {
    throw archiveRefused(`unpacks to ${bytes(total)}; a package may have ${bytes(limits.unpacked)}`);
  }
  const files = new Map<string, string>();
  const folders = new Set<string>();
  for (const { name, isFolder } of entries) {
    const parts = folded(name)
      .split('/')
      .slice(0, isFolder ? -1 : undefined);
    const key = parts.join('/');
    if (!isFolder) {
      const other = files.get(key);
      if (other === name) throw entryRefused(name, 'is there twice');
      if (other !== undefined)
        throw entryRefused(
          name,
          `has the same name as "${escapeForMessage(other)}" where capitals or accents are not told apart`,
        );
      files.set(key, name);
    }
    for (let depth = isFolder ? parts.length : parts.length - 1; depth > 0; depth--) {
      const folder = parts.slice(0, depth).join('/');
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  for (const [key, name] of files) if (folders.has(key)) throw entryRefused(name, 'is both a file and a folder');
}

const folded = (name: string): string => name.normalize('NFC').toLowerCase();
