/** Shelves in a folder: a path, or its `file:` address. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRefused } from '../../lib/errors.ts';
import type { ShelfStore } from '../stores.ts';
import { openStoredShelf } from './open-stored-shelf.ts';
import { openToRead } from './open-to-read.ts';

export const folderStore: ShelfStore = {
  written: 'a folder, such as /var/lib/kgrid or file:///var/lib/kgrid',
  isAt: (location) => [undefined, 'file'].includes(kindOf(location)),
  folderAt,
  labelAt: folderAt,
  open: (location, options) => openStoredShelf(folderAt(location), options),
  async check(location) {
    const { checkShelf } = await import('./check-shelf.ts');
    return checkShelf(folderAt(location));
  },
  openToRead: (location, { state }) => openToRead(folderAt(location), state),
  openTables: (location) => openToRead(folderAt(location), undefined, false),
};

const kindOf = (location: string): string | undefined => /^([a-z][a-z\d+.-]+):\//i.exec(location)?.[1]?.toLowerCase();

function folderAt(location: string): string {
  if (/^postgres(?:ql)?\/\//i.test(location))
    throw startRefused(
      '--shelf: it looks like the address of a database, and lacks the colon: write it like postgres://user@host:5432/database',
    );
  if (kindOf(location) === undefined) return resolve(location);
  try {
    return fileURLToPath(location);
  } catch (thrown) {
    throw startRefused(`--shelf: ${location} names no folder of this machine: write it like file:///var/lib/kgrid`, {
      cause: thrown,
    });
  }
}
