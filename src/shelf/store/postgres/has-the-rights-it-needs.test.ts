import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentOn, failsWith, filesOf, koId, put } from '../../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../../test/conformance/temporary-folder.ts';
import { until } from '../../../../test/runtimes/support/until.ts';
import { testDatabase, type TestDatabase } from '../../../../test/support/postgres/shared.ts';
import { openPostgresShelf } from './open-postgres-shelf.ts';
import type { StoredShelf } from '../stored-shelf.ts';

interface Role extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
}

async function roleIn(database: TestDatabase, name: string): Promise<Role> {
  const role = `${name}_${database.name}`;
  await database.run(`CREATE ROLE ${role} LOGIN`);
  return {
    name: role,
    url: database.url.replace('kgrid@', `${role}@`),
    [Symbol.asyncDispose]: async () => void (await database.run(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)),
  };
}

const keepRemoved = { count: 10, age: 86_400_000 };
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE';
const isRefused = failsWith('shelf-not-writable', /does not let its user make this change; nothing was changed/);
const problemOf = (shelf: StoredShelf): string | undefined => shelf.condition().problem;

/** Everything that writes. */
async function useAll(shelf: StoredShelf): Promise<void> {
  await put(shelf, 'a/b/v1');
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { other: 'x'.repeat(2_000_000) }));
  await shelf.remove(koId('a/b/v1'));
  await shelf.restore(koId('a/b/v1'), {});
  await shelf.collect();
  assert.equal((await contentOn(shelf, 'a/b/v1'))['other']?.length, 2_000_000);
  assert.equal(problemOf(shelf), undefined);
}

test('a user that owns its schema, and one that may only change rows, have all that a shelf needs', async () => {
  await using folder = await temporaryFolder();
  await using database = await testDatabase();
  await using owner = await roleIn(database, 'owner');
  await database.run(`CREATE SCHEMA kgrid AUTHORIZATION ${owner.name}`);
  {
    await using shelf = await openPostgresShelf(owner.url, { folder: folder.path, keepRemoved });
    await useAll(shelf);
  }
  await using rows = await roleIn(database, 'rows');
  await database.run(
    `GRANT USAGE ON SCHEMA kgrid TO ${rows.name}; GRANT ${RIGHTS} ON ALL TABLES IN SCHEMA kgrid TO ${rows.name}`,
  );
  await using shelf = await openPostgresShelf(rows.url, { folder: folder.path, keepRemoved });
  await useAll(shelf);
});

test('while a right is revoked changes are refused, reads go on, and the condition says so', async () => {
  await using folder = await temporaryFolder();
  await using database = await testDatabase();
  await using owner = await roleIn(database, 'owner');
  await database.run(`CREATE SCHEMA kgrid AUTHORIZATION ${owner.name}`);
  await using shelf = await openPostgresShelf(owner.url, { folder: folder.path, keepRemoved });
  await put(shelf, 'a/b/v1');
  for (const [taken, problem] of [
    [`INSERT ON kgrid.object_piece`, /cannot be used \(its user lacks the right to INSERT on object_piece\)$/],
    [`${RIGHTS} ON ALL TABLES IN SCHEMA kgrid`, /cannot be used \(/],
  ] as const) {
    await database.run(`REVOKE ${taken} FROM ${owner.name}`);
    await assert.rejects(put(shelf, 'a/b/v2'), isRefused);
    await until('it is noticed', () => problemOf(shelf));
    assert.match(problemOf(shelf) ?? '', problem);
    await assert.rejects(put(shelf, 'a/b/v2'), isRefused);
    assert.deepEqual(await contentOn(shelf, 'a/b/v1'), filesOf('a/b/v1'));
    await database.run(`GRANT ${taken} TO ${owner.name}`);
    await until('it is given back', () => (problemOf(shelf) === undefined ? true : undefined));
    await put(shelf, 'a/b/v2');
    await shelf.remove(koId('a/b/v2'));
  }
});

test('while the database can only be read changes are refused and may be tried again', async () => {
  await using folder = await temporaryFolder();
  await using database = await testDatabase();
  await using shelf = await openPostgresShelf(database.url, { folder: folder.path, keepRemoved });
  const set = (value: string): Promise<unknown> =>
    database.run(`ALTER DATABASE ${database.name} SET default_transaction_read_only = ${value};
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database.name}' AND pid <> pg_backend_pid()`);
  await set('on');
  await until('it is noticed', () => problemOf(shelf));
  await until('it is connected again', () => /can only be read/.exec(problemOf(shelf) ?? '') ?? undefined);
  await assert.rejects(put(shelf, 'a/b/v1'), failsWith('shelf-unavailable', /can only be read at the moment/));
  await database.run(
    `SET transaction_read_only = off; ALTER DATABASE ${database.name} SET default_transaction_read_only = off`,
  );
  await database.run(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database.name}' AND pid <> pg_backend_pid()`,
  );
  await until('it can be written again', () => (problemOf(shelf) === undefined ? true : undefined));
  await put(shelf, 'a/b/v1');
});
