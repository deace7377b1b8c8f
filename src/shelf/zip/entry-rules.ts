import { crc32 } from 'node:zlib';
import { getFileNameLowLevel, type Entry, type ExtraField } from 'yauzl';
import {
  bytes,
  refusalsOf,
  ratioProblem,
  type ArchiveLimits,
  type ArchiveKind,
  type NamedEntry,
} from '../archive/archive.ts';
import { DRIVE } from '../../knowledge-object/package-path.ts';

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

export const refused = refusalsOf('zip');
export const { archive: archiveRefused, entry: entryRefused } = refused;

const UTF8_NAME = 0x800;
const UNICODE_PATH_FIELD = 0x7075;
const MAX_NAME_BYTES = 1024;
const MAX_SEGMENT_BYTES = 255;
const MAX_DEPTH = 20;

/**
 * The name of an entry, which ends with `/` for a folder. Tools that write UTF-8 without saying so are more common
 * than names in code page 437 that happen to be valid UTF-8.
 * @throws importRefused when the name cannot be read, or may not name a file of a package.
 */
export function readName(raw: Buffer, flags: number, extraFields: readonly ExtraField[]): string {
  const latin = raw.toString('latin1');
  if (raw.some((byte) => byte < 0x20)) throw entryRefused(latin, 'has a control character in its name');
  const plain = utf8(raw);
  if (plain === undefined && (flags & UTF8_NAME) !== 0) throw entryRefused(latin, 'has a name that is not valid UTF-8');
  const unicode = unicodePath(raw, extraFields);
  const name = unicode === undefined ? (plain ?? codePage437(raw)) : utf8(unicode);
  if (name === undefined) throw entryRefused(latin, 'has a Unicode name that is not valid UTF-8');
  if (unicode !== undefined && (flags & UTF8_NAME) !== 0 && name !== plain) {
    throw entryRefused(latin, 'has two different names');
  }
  const problem = nameProblem(name);
  if (problem !== undefined) throw entryRefused(name, problem);
  return name;
}

function utf8(raw: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    return undefined;
  }
}

const codePage437 = (raw: Buffer): string => getFileNameLowLevel(0, raw, [], true);

/** The name in an Info-ZIP "Unicode path" field; one that was made for another header name does not count. */
export function unicodePath(raw: Buffer, extraFields: readonly ExtraField[]): Buffer | undefined {
  return extraFields
    .find(
      ({ id, data }) =>
        id === UNICODE_PATH_FIELD && data.length > 5 && data[0] === 1 && data.readUInt32LE(1) === crc32(raw),
    )
    ?.data.subarray(5);
}

/** Why an entry may not have this name: completes "The zip entry … "; undefined when it may. */
export function nameProblem(name: string, kind: ArchiveKind = 'zip'): string | undefined {
  if (name === '') return 'has no name';
  if (/\p{Cc}/u.test(name)) return 'has a control character in its name';
  if (name.includes('\\')) {
    return `has a backslash in its name: the ${kind} was made by a tool that writes Windows separators; make it with another tool, such as zip or 7-Zip`;
  }
  if (name.startsWith('/')) return 'has an absolute path: paths must be relative to the package';
  if (DRIVE.test(name)) return 'has a path that begins with a Windows drive: paths must be relative to the package';
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `has a name of more than ${MAX_NAME_BYTES} bytes`;
  const segments = name.replace(/\/$/, '').split('/');
  if (segments.length > MAX_DEPTH) return `lies more than ${MAX_DEPTH} folders deep`;
  return segments.map(segmentProblem).find((problem) => problem !== undefined);
}

/** What Windows would store elsewhere. A colon is no such name: copies of streams (`index.html:Zone.Identifier`) are in many packages. */
const RESERVED_ON_WINDOWS = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³])(?:\.|$)/i;

function segmentProblem(segment: string): string | undefined {
  if (segment === '') return 'has an empty part in its path';
  if (segment === '.' || segment === '..')
    return `has "${segment}" in its path: paths must be plain and stay in the package`;
  if (/[. ]$/.test(segment))
    return 'has a dot or a space at the end of a name, which not every system can store: rename it';
  if (RESERVED_ON_WINDOWS.test(segment)) return 'has a name that is reserved on Windows: rename it';
  if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
    return `has a name of more than ${MAX_SEGMENT_BYTES} bytes between two slashes`;
  return undefined;
}
