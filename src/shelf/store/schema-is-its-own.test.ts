import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { testDatabase } from '../../../test/support/postgres/shared.ts';
import type { Database } from './database.ts';
import { PostgresDatabase } from './postgres/postgres-database.ts';
import { finishSchema, migrate, schemaStatus } from './schema.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';
import { STEPS, type Step } from './tables.ts';

const shared = await testDatabase();
after(() => shared[Symbol.asyncDispose]());

/** Made up: a column that may be missing at first, and one that goes. */
const SECOND: Step = {
  prepare: ({ schema, types }) => [`CREATE TABLE ${schema}more (one ${types.integer}, two ${types.integer})`],
  finish: ({ schema }) => [`ALTER TABLE ${schema}more DROP COLUMN one`],
};
const MORE = [...STEPS, SECOND];
const LAST = MORE.length;

async function migrated(fleet: string, url = shared.url, steps = STEPS): Promise<void> {
  await using database = new PostgresDatabase(url, { fleet });
  await migrate(database, 'here', steps);
}

const tables = STEPS.flatMap((step) => step.prepare(dialectOf('x'))).filter((each) => each.startsWith('CREATE TABLE'));

function dialectOf(fleet: string): Database['dialect'] {
  return new PostgresDatabase(shared.url, { fleet }).dialect;
}

test('several nodes make the schema of a fleet at once, and a second fleet has its own', async () => {
  await Promise.all(Array.from({ length: 5 }, () => migrated('many')));
  await migrated('other-1');
  const rows = await shared.run(
    `SELECT table_schema AS fleet, count(*)::int AS tables FROM information_schema.tables
     WHERE table_schema IN ('many', 'other-1') GROUP BY 1 ORDER BY 1`,
  );
  // Those of the driver, and that of the steps.
  const count = tables.length + 3 + 1;
  assert.deepEqual(rows, [
    { fleet: 'many', tables: count },
    { fleet: 'other-1', tables: count },
  ]);
});

test('steps are done whole or not at all', async () => {
  const broken: Step = { prepare: ({ schema }) => [`CREATE TABLE ${schema}more (one int)`, 'SELECT 1/0'] };
  await migrated('steps');
  await assert.rejects(migrated('steps', shared.url, [...STEPS, broken]), { sqlState: '22012' });
  await migrated('steps', shared.url, MORE);
  assert.deepEqual(
    await shared.run('SELECT step FROM steps.schema_step ORDER BY 1'),
    MORE.map((_, i) => ({ step: String(i + 1) })),
  );
});

test('a schema that is newer, of another program, or not whole is refused with what to do', async () => {
  const refused = (fleet: string, message: RegExp): Promise<void> =>
    assert.rejects(migrated(fleet), { code: 'start-refused', message });
  await migrated('newer', shared.url, MORE);
  await refused(
    'newer',
    new RegExp(
      `^--shelf: the database of here is of a newer activator \\(its schema has ${LAST} steps, this program knows ${STEPS.length}\\): start that one`,
    ),
  );
  await shared.run(`CREATE SCHEMA theirs; CREATE TABLE theirs.users (); CREATE SCHEMA flyway;
    CREATE TABLE flyway.schema_version (version text, script text); INSERT INTO flyway.schema_version VALUES ('1', 'x');
    CREATE SCHEMA alike; CREATE TABLE alike.schema_step (step int, program text); INSERT INTO alike.schema_step VALUES (1, 'x');
    CREATE SCHEMA bare; CREATE TABLE bare.schema_step (name text)`);
  for (const fleet of ['theirs', 'flyway', 'alike', 'bare'])
    await refused(fleet, /belongs to another program: name another place/);
  await migrated('half');
  await shared.run('DROP TABLE half.lease');
  await refused('half', /is not whole \(missing: lease\): restore a backup/);
  await migrated('gap', shared.url, MORE);
  await shared.run('DELETE FROM gap.schema_step WHERE step = 1; UPDATE gap.schema_step SET finished = NULL');
  await refused('gap', /is not whole/);
  await shared.run('CREATE SCHEMA empty');
  await migrated('empty');
});

test('a user who may not make it is told what an administrator is to run', async () => {
  await shared.run(`CREATE ROLE few_${shared.name} LOGIN`);
  const url = shared.url.replace('kgrid@', `few_${shared.name}@`);
  await assert.rejects(migrated('few', url), {
    fault: 'permission',
    message: new RegExp(`run CREATE SCHEMA "few" AUTHORIZATION "few_${shared.name}"$`),
  });
  await shared.run(`CREATE SCHEMA few AUTHORIZATION few_${shared.name}`);
  await migrated('few', url);
  await shared.run(`DROP OWNED BY few_${shared.name}; DROP ROLE few_${shared.name}`);
});

test('a user who may only read and write the rows uses what another has made', async () => {
  await migrated('rows');
  const role = `rows_${shared.name}`;
  await shared.run(`CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA rows TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA rows TO ${role}`);
  await using database = new PostgresDatabase(shared.url.replace('kgrid@', `${role}@`), { fleet: 'rows' });
  await migrate(database, 'here');
  await database.transaction(({ query }) => query('UPDATE rows.state SET revision = 1'), { isExclusive: true });
  assert.deepEqual((await database.query('SELECT revision FROM rows.state')).rows, [{ revision: 1 }]);
  await assert.rejects(migrate(database, 'here', MORE), { fault: 'permission', message: /run kgrid schema prepare$/ });
  await database[Symbol.asyncDispose]();
  await shared.run(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});

test('while others run a step is only prepared, so that programs before it go on and start; an operator finishes it', async () => {
  await migrated('fleet');
  await using database = new PostgresDatabase(shared.url, { fleet: 'fleet' });
  const { now } = database.dialect;
  await database.query(
    `INSERT INTO fleet.node (id, name, address, version, settings, revision, generation, failures, joined, heartbeat)
      VALUES ('a', 'old', '', '0.1', '{}', 0, 0, '[]', 0, ${now} + 60000)`,
  );
  await migrate(database, 'here', MORE);
  const steps = async (known = MORE): Promise<unknown> =>
    (await schemaStatus(database, 'here', known)).steps.map(({ step, finished }) => [step, finished !== null]);
  assert.deepEqual(await steps(), [...STEPS.map((_, i) => [i + 1, true]), [LAST, false]]);
  assert.deepEqual((await schemaStatus(database, 'here')).nodes, [{ name: 'old', version: '0.1' }]);
  await migrate(database, 'here');
  await database.query('INSERT INTO fleet.more (one, two) VALUES (1, 2)');
  await finishSchema(database, 'here', MORE);
  assert.deepEqual(await steps(), [...MORE.map((_, i) => [i + 1, true])]);
  assert.deepEqual((await database.query('SELECT * FROM fleet.more')).rows, [{ two: 2 }]);
  await assert.rejects(migrate(database, 'here'), { message: /is of a newer activator/ });
});

test('in a file the steps are finished at once: nobody else writes it', async () => {
  await using folder = await temporaryFolder();
  await using database = await SqliteDatabase.open(join(folder.path, 'shelf.db'));
  await migrate(database, 'here');
  await migrate(database, 'here', MORE);
  const { steps } = await schemaStatus(database, 'here', MORE);
  assert.deepEqual(
    steps.map(({ finished }) => finished !== null),
    MORE.map(() => true),
  );
  assert.deepEqual((await database.query(`SELECT name FROM pragma_table_info('more')`)).rows, [{ name: 'two' }]);
});

test('names that cannot be those of a fleet are refused', () => {
  for (const fleet of ['', 'Public', 'public', 'pg_x', 'a"b', '1a', 'x'.repeat(41), 'information_schema'])
    assert.throws(() => new PostgresDatabase(shared.url, { fleet }), {
      code: 'start-refused',
      message: /^--fleet is /,
    });
});
