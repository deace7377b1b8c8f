import * as fs from 'node:fs';
import { hash, createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
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

/** Never follows a symbolic link: a file of a package is a regular file inside it. */
export const READ_REGULAR = fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW;
/**
 * The bytes of a regular file. Without a `FileHandle`, which takes most of the processor time that reading a small file takes.
 * `size`: where it is known, nobody asks the system for it; of a file that has grown there is one byte more.
 */
export function readRegular(path: string, size?: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    fs.open(path, READ_REGULAR, (notOpened, file) => {
      if (notOpened !== null) return reject(notOpened);
      const close = (notRead: Error | null, bytes: Buffer): void =>
        fs.close(file, (notClosed) => {
          const error = notRead ?? notClosed;
          if (error === null || error === undefined) resolve(bytes);
          else reject(error);
        });
      if (size === undefined) fs.readFile(file, close);
      else
        fs.read(file, Buffer.allocUnsafe(size + 1), 0, size + 1, 0, (notRead, length, bytes) =>
          close(notRead, bytes.subarray(0, length)),
        );
    });
  });
}

/** Files up to this size are read at once, which is several times faster. */
const SMALL_BYTES = 1024 * 1024;

/** @returns lower-case hex. */
export async function hashFile(path: string, size: number): Promise<string> {
  if (size <= SMALL_BYTES) return sha256(await readRegular(path));
  await using file = await open(path, READ_REGULAR);
  const hash = createHash('sha256');
  for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Says which content an answer comes from: `sha256:<hex>`. */
export const packageDigestOf = ({ digest }: ShelfEntry): string => `sha256:${digest}`;
