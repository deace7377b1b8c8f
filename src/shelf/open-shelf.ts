import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRefused } from '../lib/errors.ts';
import { openFileShelf, type FileShelfOptions } from './file-store/open-file-shelf.ts';
import type { Shelf } from './shelf.ts';

export type ShelfOptions = FileShelfOptions;

/** The shelf of a location. @throws startRefused where there is none, or no store is known for it. */
export async function openShelf(location: string, options: ShelfOptions = {}): Promise<Shelf> {
  return openFileShelf(folderOfShelf(location), options);
}

/** The absolute path of the folder that a location names. @throws startRefused where it names something else. */
export function folderOfShelf(location: string): string {
  const [, named, database] = /^(?:([a-z][a-z\d+.-]+):\/|(postgres(?:ql)?):)/i.exec(location) ?? [];
  const kind = (named ?? database)?.toLowerCase();
  if (kind === undefined) return resolve(location);
  if (kind === 'file') {
    try {
      return fileURLToPath(location);
    } catch (thrown) {
      throw startRefused(`--shelf: ${location} names no folder of this machine: write it like file:///var/lib/kgrid`, {
        cause: thrown,
      });
    }
  }
  // The rest of the location may hold a password.
  throw startRefused(
    `--shelf: a shelf at ${kind}: cannot be opened: supported is a folder, such as /var/lib/kgrid or file:///var/lib/kgrid`,
  );
}
