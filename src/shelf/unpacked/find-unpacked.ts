import { readdir, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { isOutOfHandles, tooManyOpen } from '../../lib/errors.ts';
import { isTransient, reasonOf, shelfUnreadable } from '../disk-errors.ts';
import type { ShelfDamage } from '../shelf.ts';

/** "a folder of any name, up to three levels deep, with a `metadata.json`". */
const MAX_DEPTH = 3;

export interface FoundFolders {
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
