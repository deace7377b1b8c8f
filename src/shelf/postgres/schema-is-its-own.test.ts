import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { testDatabase } from '../../../test/support/postgres/shared.ts';
import { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS, TABLES } from './migrations/migrations.ts';

const shared = await testDatabase();
after(() => shared[Symbol.asyncDispose]());

async function migrated(fleet: string, url = shared.url, migrations = MIGRATIONS): Promise<void> {
  const database = new Database(url, { fleet });
  try {
    await migrate(database, migrations);
  } finally {
    await database.close();
  }
}

test('several nodes make the schema of a fleet at once, and a second fleet has its own', async () => {
  await Promise.all(Array.from({ length: 5 }, () => migrated('many')));
  await migrated('other-1');
  const rows = await shared.run(
    `SELECT table_schema AS fleet, count(*)::int AS tables FROM information_schema.tables
     WHERE table_schema IN ('many', 'other-1') GROUP BY 1 ORDER BY 1`,
  );
  const tables = TABLES.length + 1;
  assert.deepEqual(rows, [
    { fleet: 'many', tables },
    { fleet: 'other-1', tables },
  ]);
});

test('each step is done once, whole, and what was done stays where a later one fails', async () => {
  const more = [...MIGRATIONS, (schema: string) => `CREATE TABLE ${schema}.more (); SELECT 1/0`];
  await assert.rejects(migrated('steps', shared.url, more), { sqlState: '22012' });
  await migrated('steps');
  await migrated('steps', shared.url, [...MIGRATIONS, (schema) => `CREATE TABLE ${schema}.more ()`]);
  assert.deepEqual(
    await shared.run('SELECT version FROM steps.schema_version ORDER BY 1'),
    Array.from({ length: MIGRATIONS.length + 1 }, (_, i) => ({ version: i + 1 })),
  );
});

test('a schema that is newer, of another program, or not whole is refused with what to do', async () => {
  const refused = (fleet: string, message: RegExp): Promise<void> =>
    assert.rejects(migrated(fleet), { fault: 'schema', message });
  await migrated('newer', shared.url, [...MIGRATIONS, (schema) => `CREATE TABLE ${schema}.more ()`]);
  await refused(
    'newer',
    new RegExp(
      `^its schema newer is of a newer activator \\(its version is ${MIGRATIONS.length + 1}, this program knows ${MIGRATIONS.length}\\): start that one`,
    ),
  );
  await shared.run(`CREATE SCHEMA theirs; CREATE TABLE theirs.users (); CREATE SCHEMA flyway;
    CREATE TABLE flyway.schema_version (version text, script text);
    CREATE SCHEMA alike; CREATE TABLE alike.schema_version (version int, program text); INSERT INTO alike.schema_version VALUES (1, 'x')`);
  for (const fleet of ['theirs', 'flyway', 'alike'])
    await refused(fleet, /belongs to another program: name another with --fleet/);
  await migrated('half');
  await shared.run('DROP TABLE half.lease');
  await refused('half', /is not whole \(missing: lease\): restore a backup/);
  await shared.run(`DELETE FROM half.schema_version WHERE version < ${MIGRATIONS.length}`);
  await refused('half', /is not whole/);
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

test('names that cannot be those of a fleet are refused', () => {
  for (const fleet of ['', 'Public', 'public', 'pg_x', 'a"b', '1a', 'x'.repeat(41), 'information_schema'])
    assert.throws(() => new Database(shared.url, { fleet }), { code: 'start-refused', message: /^--fleet is / });
});
