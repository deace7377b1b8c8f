import { hash } from 'node:crypto';
import type { PackageFile, ShelfEntry } from '../shelf.ts';

export interface HashedFile extends PackageFile {
  /** Lower-case hex. */
  readonly sha256: string;
}

/** All that is known of a package without reading its files; made by `admit`. */
export interface PackageContent {
  readonly entry: ShelfEntry;
  /** By path, sorted; `metadata.json` included. */
  readonly files: ReadonlyMap<string, HashedFile>;
}

export const sha256 = (data: string | Buffer): string => hash('sha256', data);

/**
 * The digest of a package: sha256 over what `sha256sum` prints for all its files in order of path, so that anybody
 * can compute it again. The order is that of the bytes of the paths.
 */
export const packageDigest = (files: readonly HashedFile[]): string => sha256(linesOf(sortedByBytes(files)));

export const sortedByBytes = (files: readonly HashedFile[]): HashedFile[] => files.toSorted(byBytes);

/** What `sha256sum` prints. */
export const linesOf = (files: readonly HashedFile[]): string =>
  files.map((file) => `${file.sha256}  ${file.path}\n`).join('');

export const byPath = (a: HashedFile, b: HashedFile): number => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);

/** Other than by UTF-16 where a path has characters beyond the first 65,536. */
const byBytes = (a: HashedFile, b: HashedFile): number =>
  SURROGATE.test(a.path) || SURROGATE.test(b.path)
    ? Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))
    : byPath(a, b);

const SURROGATE = /[\ud800-\udfff]/;
