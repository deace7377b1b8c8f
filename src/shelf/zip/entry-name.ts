import { crc32 } from 'node:zlib';
import { getFileNameLowLevel } from 'yauzl';
import type { ExtraField } from 'yauzl';
import type { ArchiveKind } from '../archive/archive.ts';
import { DRIVE } from '../../knowledge-object/package-path.ts';
import { entryRefused } from './refusal.ts';

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
