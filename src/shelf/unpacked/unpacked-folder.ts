import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { METADATA_FILE, parseMetadata } from '../../knowledge-object/metadata.ts';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { isMissing, isTransient, reasonOf, shelfUnreadable } from '../disk-errors.ts';
import { hashFile, sha256, type HashedFile, type PackageContent } from '../package/package-content.ts';
import { admit, textOfMetadata } from '../package/admit.ts';
import { isOutOfHandles, tooManyOpen } from '../../lib/errors.ts';
import type { ShelfDamage } from '../shelf.ts';

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

/** "a folder of any name, up to three levels deep, with a `metadata.json`". */
const MAX_DEPTH = 3;

interface FoundFolders {
  /** Folders with a `metadata.json`, relative to the shelf, sorted. */
  readonly folders: string[];
  /** Archives that lie beside them, relative to the shelf, sorted. */
  readonly archives: string[];
  readonly damage: ShelfDamage[];
}

/** Finds the folders that people put on a shelf, and what they may have taken for one. Does not look into those that are known. */
export async function findUnpacked(
  root: string,
  isKnown: (where: string) => boolean = () => false,
): Promise<FoundFolders> {
  const found: FoundFolders = { folders: [], archives: [], damage: [] };
  const report = (where: string, cause: string): void => void found.damage.push({ where, cause });

  async function look(folder: string, depth: number): Promise<void> {
    if (isKnown(folder)) return void found.folders.push(folder);
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((thrown: unknown) => {
      if (isOutOfHandles(thrown)) throw tooManyOpen(thrown);
      if (depth === 0) throw shelfUnreadable(thrown);
      found.damage.push(unreadable(folder, thrown));
      return [];
    });
    if (entries.some((entry) => entry.name === METADATA_FILE && entry.isFile())) {
      if (depth > 0) return void found.folders.push(folder);
      report(METADATA_FILE, 'a knowledge object needs a folder of its own on the shelf');
    }
    for (const entry of entries.filter((each) => !isIgnored(each.name))) {
      const where = posix.join(folder, entry.name);
      if (entry.isDirectory() && depth < MAX_DEPTH) await look(where, depth + 1);
      else if (entry.isSymbolicLink() && (await isFolder(join(root, where)))) {
        report(where, 'links are not followed, put the folder itself here');
      } else if (entry.isFile() && ARCHIVE.test(entry.name)) found.archives.push(where);
    }
  }

  await look('', 0);
  found.folders.sort();
  found.archives.sort();
  return found;
}

/** A folder about which nothing can be said now. */
export const unreadable = (where: string, thrown: unknown): ShelfDamage =>
  isTransient(thrown)
    ? { where, cause: `it cannot be read (${reasonOf(thrown)}); it is tried again`, transient: true }
    : { where, cause: `it cannot be read (${reasonOf(thrown)})` };

const isIgnored = (name: string): boolean => name.startsWith('.') || name === '__MACOSX';

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false;

const ARCHIVE = /\.(?:zip|tar\.gz|tgz)$/i;
