import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { METADATA_FILE, parseMetadata } from '../../knowledge-object/metadata.ts';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { isMissing } from '../disk-errors.ts';
import { hashFile } from '../package/hash-file.ts';
import { admit, textOfMetadata } from '../package/admit.ts';
import { sha256, type HashedFile, type PackageContent } from '../package/package-content.ts';

/** Not of the package: what desktops and version control leave in folders. */
export const IGNORED: ReadonlySet<string> = new Set(['.DS_Store', '__MACOSX', '.git']);
/** A file that changed this recently may change again within one tick of the file system's clock. */
const CLOCK_TICK_MS = 100;

export interface FileStamp {
  readonly path: string;
  readonly size: number;
  /** The file has not changed while this is the same, unless it is `fresh`. */
  readonly stamp: string;
  readonly fresh: boolean;
}

/** All files of a folder that belong to its package, by path: regular ones, links are not followed. */
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
  return stamps.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** One digest of all stamps; undefined when some file is too fresh to rely on it. */
export const folderStamp = (stamps: readonly FileStamp[]): string | undefined =>
  stamps.some((file) => file.fresh) ? undefined : sha256(stamps.map((file) => `${file.path} ${file.stamp}\n`).join(''));

/** Reads what a person put into a folder. @throws Error that says why it is not a package, or an error of the system. */
export async function readUnpacked(
  root: string,
  stamps: readonly FileStamp[],
  defaultNaan: string,
): Promise<PackageContent> {
  const metadata = textOfMetadata(await readFile(join(root, METADATA_FILE)));
  const files: HashedFile[] = [];
  for (const { path, size } of stamps) {
    if (path === METADATA_FILE) continue;
    // It may have been removed meanwhile.
    const digest = await hashFile(join(root, path), size).catch(unlessMissing);
    if (digest !== undefined) files.push({ path, size, sha256: digest });
  }
  return admit(parseMetadata(metadata, defaultNaan).id, metadata, files);
}

function unlessMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown;
}
