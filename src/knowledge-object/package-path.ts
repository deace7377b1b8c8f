const MAX_PATH_BYTES = 1024;
const MAX_SEGMENT_BYTES = 255;

/**
 * True for a path that may name a file of a package: relative, also on Windows, `/` between its segments, none of
 * them empty, `.` or `..`; no backslash (a separator elsewhere), no NUL or other control character, and within what file
 * systems hold: 255 bytes a segment, 1,024 bytes in all.
 */
export function isPackagePath(path: string): boolean {
  // A lone surrogate has no UTF-8 form: two such names would become one file.
  if (!path.isWellFormed() || /[\\\p{Cc}]/u.test(path) || Buffer.byteLength(path) > MAX_PATH_BYTES) return false;
  return !DRIVE.test(path) && path.split('/').every(isSegment);
}

/** `C:/x` is absolute on Windows. */
export const DRIVE = /^[A-Za-z]:\//;

const isSegment = (segment: string): boolean =>
  segment !== '' && segment !== '.' && segment !== '..' && Buffer.byteLength(segment) <= MAX_SEGMENT_BYTES;

/** A path in a package as people write it: a leading `./` says nothing. */
export const withoutDot = (path: string): string => path.replace(/^(\.\/+)+/, '');
