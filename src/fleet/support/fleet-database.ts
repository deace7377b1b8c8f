/** A database of a fleet, with KOs on its shelf that are ids and digests alone. */
import { testDatabase } from '../../../test/support/postgres/shared.ts';
import type { KoId } from '../../knowledge-object/id.ts';
import { Database } from '../../shelf/postgres/database.ts';
import { migrate } from '../../shelf/postgres/migrate.ts';

export interface FleetDatabase extends AsyncDisposable {
  readonly database: Database;
  /** Puts a KO on the shelf, or another package of it. */
  put(id: KoId, digest: string): Promise<void>;
  remove(id: KoId): Promise<void>;
}

export async function fleetDatabase(): Promise<FleetDatabase> {
  const test = await testDatabase();
  const database = new Database(test.url, { fleet: 'kgrid', most: 8 });
  await migrate(database);
  const { query, schema } = database;
  return {
    database,
    async put({ naan, name, version }, digest) {
      await query(`INSERT INTO ${schema}.package (digest, artifacts, size) VALUES ($1, '', 0) ON CONFLICT DO NOTHING`, [
        digest,
      ]);
      await query(
        `INSERT INTO ${schema}.ko (naan, name, version, digest, revision) VALUES ($1, $2, $3, $4, 1)
          ON CONFLICT (naan, name, version) DO UPDATE SET digest = excluded.digest, removed = false`,
        [naan, name, version, digest],
      );
    },
    async remove({ naan, name, version }) {
      await query(`UPDATE ${schema}.ko SET removed = true WHERE naan = $1 AND name = $2 AND version = $3`, [
        ...[naan, name, version],
      ]);
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await test[Symbol.asyncDispose]();
    },
  };
}
