import { openPostgresShelf } from '../../src/shelf/store/postgres/open-postgres-shelf.ts';
import { testDatabase } from '../support/postgres/shared.ts';
import type { ShelfStorage } from './shelf.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Schemas for the PostgreSQL store, in one database that goes with its disposal. */
export async function postgresStorages(): Promise<AsyncDisposable & { make(): Promise<ShelfStorage> }> {
  const database = await testDatabase();
  let fleets = 0;
  return {
    async make() {
      const folder = await temporaryFolder();
      const fleet = `fleet-${String(++fleets)}`;
      return {
        open: ({ keep, now } = {}) =>
          openPostgresShelf(database.url, { folder: folder.path, fleet, keepRemoved: keep, now }),
        async packages() {
          const [{ count } = {}] = await database.run(`SELECT count(DISTINCT
            (SELECT string_agg(file::text, ',' ORDER BY file ->> 0) FROM jsonb_array_elements(files::jsonb) AS file
              WHERE file ->> 0 <> 'metadata.json'))::int FROM "${fleet}".package`);
          return Number(count);
        },
        [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
      };
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
