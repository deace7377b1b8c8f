/** Shelves in a folder: a path, or its `file:` address. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRefused } from '../../lib/errors.ts';
import type { ShelfStore } from '../stores.ts';
import type { Database } from './database.ts';
import { databaseIn, openStoredShelf } from './open-stored-shelf.ts';
import { shelfLayout } from './shelf-layout.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

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
  openDatabase: (location, { state }, what) =>
    what === 'tables' ? openToRead(folderAt(location), undefined, false) : openToRead(folderAt(location), state),
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

/** An activator may go on meanwhile. @param state the state folder of an activator that only reads its shelf. @throws Error where there is none. */
export async function openToRead(folder: string, state: string | undefined, isReadOnly = true): Promise<Database> {
  const ofState = state === undefined ? undefined : join(resolve(state), 'shelf.db');
  const file = ofState !== undefined && existsSync(ofState) ? ofState : databaseIn(shelfLayout(folder));
  if (!existsSync(file)) throw new Error(`there is no database .kgrid/shelf.db in ${folder}`);
  return SqliteDatabase.open(file, { isReadOnly });
}
