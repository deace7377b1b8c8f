/** Shelves in a PostgreSQL database. Whoever has a folder loads nothing of it. */
import { join } from 'node:path';
import { userCache } from '../../../lib/user-cache.ts';
import type { ShelfStore } from '../../stores.ts';
import { checkPackages } from '../check-packages.ts';
import { isPostgresLocation, parseLocation } from './location.ts';

export const postgresStore: ShelfStore = {
  written: 'a PostgreSQL database, postgres://host/database',
  isAt: isPostgresLocation,
  folderAt: () => undefined,
  labelAt: (location) => parseLocation(location).label,
  async open(location, options) {
    const { openPostgresShelf } = await import('./open-postgres-shelf.ts');
    const { copies = join(userCache('kgrid-activator'), 'shelf') } = options;
    return openPostgresShelf(location, { ...options, onStep: undefined, folder: copies });
  },
  async check(location, access) {
    const [{ Pieces }, { PostgresDatabase }] = [await import('./pieces.ts'), await import('./postgres-database.ts')];
    await using database = new PostgresDatabase(location, access);
    return { ...(await checkPackages(database, new Pieces(database, undefined))), database: undefined };
  },
  async openDatabase(location, access, what) {
    const { PostgresDatabase } = await import('./postgres-database.ts');
    const database = new PostgresDatabase(location, access);
    if (what === 'tables') return database;
    try {
      await database.query(`SELECT 1 FROM ${database.dialect.schema}audit_head`);
      return database;
    } catch (thrown) {
      await database[Symbol.asyncDispose]();
      throw thrown;
    }
  },
};
