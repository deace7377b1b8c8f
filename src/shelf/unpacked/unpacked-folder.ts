import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { METADATA_FILE, otherAtId, parseMetadata } from '../../knowledge-object/metadata.ts';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { isMissing } from '../disk-errors.ts';
import { hashFile } from '../package/hash-file.ts';
import { describePackage, textOfMetadata, type HashedFile, type PackageContent } from '../package/package-content.ts';

/** Not of the package: what desktops and version control leave in folders. */
const IGNORED = new Set(['.DS_Store', '__MACOSX', '.git']);
/** A file that changed this recently may change again within one tick of the file system's clock. */
const CLOCK_TICK_MS = 100;

export interface FileStamp {
  readonly path: string;
  readonly size: number;
  /** The file has not changed while this is the same, unless it is `fresh`. */
  readonly stamp: string;
  readonly fresh: boolean;
}

/** By absolute path: hashes of files that need not be read again. */
export type HashCache = Map<string, { stamp: string; sha256: string }>;

/** All files of a folder that belong to its package: regular ones, links are not followed. */
export async function stampFolder(root: string): Promise<FileStamp[]> {
  const stamps: FileStamp[] = [];
  const now = Date.now();
  async function walk(folder: string): Promise<void> {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (IGNORED.has(entry.name) || !isPackagePath(path)) continue;
      if (entry.isDirectory()) await walk(path);
      else if (entry.isFile()) {
        const found = await lstat(join(root, path), { bigint: true }).catch(unlessMissing);
        if (found === undefined) continue;
        const stamp = `${String(found.size)} ${String(found.mtimeNs)} ${String(found.ctimeNs)} ${String(found.ino)}`;
        const fresh = Number(found.ctimeMs) > now - CLOCK_TICK_MS;
        stamps.push({ path, size: Number(found.size), stamp, fresh });
      }
    }
  }
  await walk('');
  return stamps;
}

/** One text for all stamps; undefined when some file is too fresh to rely on it. */
export const folderStamp = (stamps: readonly FileStamp[]): string | undefined =>
  stamps.some((file) => file.fresh) ? undefined : stamps.map((file) => `${file.path} ${file.stamp}`).join('\n');

/** Reads what a person put into a folder. @throws Error that says why it is not a package, or an error of the system. */
export async function readUnpacked(
  root: string,
  cache: HashCache,
  defaultNaan: string,
): Promise<{ content: PackageContent; stamp: string | undefined }> {
  const stamps = await stampFolder(root);
  const metadata = textOfMetadata(await readFile(join(root, METADATA_FILE)));
  const { id } = parseMetadata(metadata, defaultNaan);
  const files: HashedFile[] = [];
  for (const file of stamps) {
    if (file.path === METADATA_FILE) continue;
    const sha256 = await hashOf(join(root, file.path), file, cache);
    if (sha256 !== undefined) files.push({ path: file.path, size: file.size, sha256 });
  }
  return { content: describePackage(id, metadata, files, otherAtId(id, metadata)), stamp: folderStamp(stamps) };
}

/** @returns undefined when the file was removed meanwhile. */
async function hashOf(path: string, file: FileStamp, cache: HashCache): Promise<string | undefined> {
  const known = cache.get(path);
  if (known?.stamp === file.stamp) return known.sha256;
  const sha256 = await hashFile(path, file.size).catch(unlessMissing);
  if (sha256 !== undefined && !file.fresh) cache.set(path, { stamp: file.stamp, sha256 });
  return sha256;
}

function unlessMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown;
}
