/** The database of a shelf in a folder, for a command that only reads it; an activator may go on meanwhile. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Database } from './database.ts';
import { databaseIn } from './open-stored-shelf.ts';
import { shelfLayout } from './shelf-layout.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

/** @param state the state folder of an activator that only reads its shelf. @throws Error where there is none. */
export async function openToRead(folder: string, state: string | undefined, isReadOnly = true): Promise<Database> {
  const ofState = state === undefined ? undefined : join(resolve(state), 'shelf.db');
  const file = ofState !== undefined && existsSync(ofState) ? ofState : databaseIn(shelfLayout(folder));
  if (!existsSync(file)) throw new Error(`there is no database .kgrid/shelf.db in ${folder}`);
  return SqliteDatabase.open(file, { isReadOnly });
}
