import type { Entry } from 'yauzl';
import { readName } from './entry-name.ts';
import { bytes } from '../archive/archive.ts';
import type { ArchiveLimits } from '../archive/archive.ts';
import { ratioProblem } from '../archive/check-entries.ts';
import type { NamedEntry } from '../archive/check-entries.ts';
import { entryRefused } from './refusal.ts';

/** One entry of the central directory that keeps the rules; the sizes are promises until the content is read. */
export interface CheckedEntry extends NamedEntry {
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

/** Checks what the central directory says of one entry. @throws importRefused */
export function checkEntry(header: Entry, limits: ArchiveLimits): CheckedEntry {
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
  const ratio = ratioProblem(size, compressedSize);
  if (ratio !== undefined) refuse(ratio);
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
