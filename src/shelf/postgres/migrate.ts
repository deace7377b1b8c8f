/** Makes the schema of a fleet, and brings it to the version of this program; never back. */
import type { Connection } from './connection.ts';
import type { Database } from './database.ts';
import { DatabaseError, toDatabaseError } from './database-error.ts';
import { MIGRATIONS, TABLES, type Migration } from './migrations/migrations.ts';

const PROGRAM = 'kgrid-activator';
/** Milliseconds that a migration may take, or another node that does it. */
const LONGEST_MIGRATION_MS = 600_000;

/** Where all is there, it only reads. @throws DatabaseError with what to do, where the schema cannot be used. */
export async function migrate(database: Database, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
  const connection = await database.connect();
  try {
    if ((await versionOf(database, connection, migrations)) === migrations.length) return;
    if (connection.isReadOnly)
      throw new DatabaseError(
        'read-only',
        `its schema ${database.fleet} must be made or changed first, and it is read-only`,
      );
    const query = (sql: string, values: readonly unknown[] = []) => connection.query(sql, values, LONGEST_MIGRATION_MS);
    await make(database, connection);
    for (;;) {
      await query('BEGIN ISOLATION LEVEL READ COMMITTED');
      await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`kgrid:${database.fleet}`]);
      const version = await versionOf(database, connection, migrations);
      const next = migrations[version];
      if (next !== undefined) {
        await query(next(database.schema));
        await query(`INSERT INTO ${database.schema}.schema_version (version, program) VALUES ($1, $2)`, [
          version + 1,
          PROGRAM,
        ]);
      }
      await query('COMMIT');
      if (next === undefined) return;
    }
  } catch (thrown) {
    const error = toDatabaseError(thrown);
    if (error.fault !== 'permission') throw error;
    const { user } = database.location;
    throw new DatabaseError(
      'permission',
      `${error.message}: let an administrator of the database run CREATE SCHEMA ${database.schema} AUTHORIZATION "${user}"`,
      { cause: thrown },
    );
  } finally {
    connection.close();
  }
}

async function make({ schema, fleet }: Database, connection: Connection): Promise<void> {
  await connection.query(
    `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('kgrid:${fleet}', 0));
     DO $$ BEGIN IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${schema}; END IF; END $$;
     CREATE TABLE IF NOT EXISTS ${schema}.schema_version (
       version int PRIMARY KEY, program text NOT NULL, at timestamptz NOT NULL DEFAULT now());
     COMMIT`,
    [],
    LONGEST_MIGRATION_MS,
  );
}

/** How many migrations are done. @throws DatabaseError. */
async function versionOf(
  { schema, fleet }: Database,
  connection: Connection,
  migrations: readonly Migration[],
): Promise<number> {
  const { rows } = await connection.query<{ name: string }>(
    `SELECT c.relname::text AS name FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`,
    [fleet],
    LONGEST_MIGRATION_MS,
  );
  const names = new Set(rows.map(({ name }) => name));
  if (names.size === 0) return 0;
  const unusable = (why: string): DatabaseError => new DatabaseError('schema', `its schema ${fleet} ${why}`);
  const foreign = (): DatabaseError =>
    unusable('belongs to another program: name another with --fleet, and it is made there');
  if (!names.has('schema_version')) throw foreign();
  const versions = await connection
    .query<{ version: number; program: string }>(
      `SELECT version, program FROM ${schema}.schema_version ORDER BY version`,
      [],
      LONGEST_MIGRATION_MS,
    )
    .catch((thrown: unknown) => {
      const error = toDatabaseError(thrown);
      throw ['42703', '42P01'].includes(error.sqlState ?? '') ? foreign() : error;
    });
  if (versions.rows.some(({ program }) => program !== PROGRAM)) throw foreign();
  const done = versions.rows.length;
  if (done === 0 && names.size > 1) throw foreign();
  const last = versions.rows.at(-1)?.version ?? 0;
  if (last > migrations.length)
    throw unusable(
      `is of a newer activator (its version is ${String(last)}, this program knows ${String(migrations.length)}): start that one, or restore a backup from before the upgrade`,
    );
  const missing = done === 0 || done < migrations.length ? [] : TABLES.filter((name) => !names.has(name));
  if (last !== done || missing.length > 0)
    throw unusable(
      `is not whole (${missing.length > 0 ? `missing: ${missing.join(', ')}` : `${String(done)} of ${String(last)} steps are noted`}): restore a backup, or name another with --fleet`,
    );
  return done;
}
