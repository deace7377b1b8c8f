/** The databases in which a fleet may be, with KOs on the shelf that are ids and digests alone. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { testDatabase } from '../postgres/shared.ts';
import { koKey, nameKey, type KoId } from '../../../src/knowledge-object/id.ts';
import type { SharedShelf } from '../../../src/shelf/store/stored-shelf.ts';
import type { Database } from '../../../src/shelf/store/database.ts';
import { NodeId } from '../../../src/shelf/store/nodes.ts';
import { PostgresDatabase } from '../../../src/shelf/store/postgres/postgres-database.ts';
import { migrate } from '../../../src/shelf/store/schema.ts';
import { SqliteDatabase } from '../../../src/shelf/store/sqlite/sqlite-database.ts';

export class FleetDatabase {
  readonly database: Database;
  /** In front of the name of a table. */
  readonly schema: string;

  constructor(database: Database) {
    this.database = database;
    this.schema = database.dialect.schema;
  }

  /** Puts a KO on the shelf, or another package of it. */
  async put(id: KoId, digest: string): Promise<void> {
    const { query } = this.database;
    await query(
      `INSERT INTO ${this.schema}package (digest, files, size, stored) VALUES ($1, '[]', 0, 0) ON CONFLICT DO NOTHING`,
      [digest],
    );
    await query(
      `INSERT INTO ${this.schema}ko (id, name, digest, revision, removed) VALUES ($1, $2, $3, 1, 0)
        ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, removed = 0`,
      [koKey(id), nameKey(id), digest],
    );
  }

  async remove(id: KoId): Promise<void> {
    await this.database.query(`UPDATE ${this.schema}ko SET removed = 1, digest = NULL WHERE id = $1`, [koKey(id)]);
  }

  /** What nodes need of the shelf. */
  shelf(node = new NodeId()): SharedShelf {
    return {
      ...{ database: this.database, node, reached: { revision: 0, generation: 0 }, openedAt: 0 },
      ...{ openPackage: () => Promise.resolve(undefined), readAgain: () => Promise.resolve([]), damage: () => [] },
    } as unknown as SharedShelf;
  }
}

/** The same tests for each database. */
export function onEachDatabase(tests: (fleet: FleetDatabase) => void): void {
  describe('in SQLite', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kgrid-fleet-'));
    const database = await SqliteDatabase.open(join(folder, 'shelf.db'));
    after(async () => {
      await database[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    });
    await migrate(database, folder);
    // What nodes ask of it is the same SQL, though only one has it.
    tests(new FleetDatabase(Object.assign(database, { isShared: true })));
  });
  describe('in PostgreSQL', async () => {
    const test = await testDatabase();
    const database = new PostgresDatabase(test.url, { fleet: 'kgrid', most: 8 });
    after(async () => {
      await database[Symbol.asyncDispose]();
      await test[Symbol.asyncDispose]();
    });
    await migrate(database, test.name);
    tests(new FleetDatabase(database));
  });
}
