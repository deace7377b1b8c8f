import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { until } from '../../../../test/runtimes/support/until.ts';
import { testDatabase } from '../../../../test/support/postgres/shared.ts';
import { tcpProxy } from '../../../../test/support/postgres/tcp-proxy.ts';
import { promised } from '../../../../test/support/promised.ts';
import { migrate } from '../schema.ts';
import { PostgresDatabase } from './postgres-database.ts';

const shared = await testDatabase();
after(() => shared[Symbol.asyncDispose]());

const over = (url: string, statementTimeout: number): PostgresDatabase =>
  new PostgresDatabase(url, { fleet: 'kgrid', statementTimeout });
/** With a limit that nothing here meets. */
async function opened(url = shared.url): Promise<PostgresDatabase> {
  const database = over(url, 60_000);
  await migrate(database, 'here');
  return database;
}
const isDone = (): true => true;
const setTo = (database: PostgresDatabase, revision: number): Promise<void> =>
  database.transaction(async ({ query }) => {
    await query(`UPDATE ${database.dialect.schema}state SET revision = $1`, [revision]);
  });
const revisionOf = async (database: PostgresDatabase): Promise<unknown> =>
  (await database.query(`SELECT revision FROM ${database.dialect.schema}state`)).rows[0]?.['revision'];
const through = (port: number, host = '127.0.0.1', more = ''): string =>
  `postgres://kgrid@${host}:${String(port)}/${shared.name}${more}`;

test('a transaction is done whole or not at all', async () => {
  await using database = await opened();
  await setTo(database, 7);
  const failure = new Error('no');
  await assert.rejects(
    database.transaction(async ({ query }) => {
      await query(`UPDATE ${database.dialect.schema}state SET revision = 8`);
      throw failure;
    }),
    failure,
  );
  await assert.rejects(
    database.transaction(async ({ query }) => {
      await query(`UPDATE ${database.dialect.schema}state SET revision = 9`);
      await query('SELECT nonsense').catch(() => undefined);
    }),
    { fault: 'schema', sqlState: '42703' },
  );
  assert.equal(await revisionOf(database), 7);
});

test('a transaction that cannot even begin leaves nothing behind on its connection', async () => {
  await using database = await opened();
  const { schema } = database.dialect;
  await setTo(database, 5);
  await shared.run(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$`);
  await shared.run(`CREATE TRIGGER full_disk BEFORE INSERT ON ${schema}change EXECUTE FUNCTION full_disk()`);
  // More than there are connections: each is given on to the next.
  const refused = await Promise.allSettled([6, 7, 8, 9, 10].map((revision) => setTo(database, revision)));
  const reasons = refused.map((each) => each.status === 'rejected' && (each.reason as { fault: unknown }).fault);
  assert.deepEqual(reasons, Array(5).fill('full'));
  assert.equal(await revisionOf(database), 5);
  await shared.run(`DROP TRIGGER full_disk ON ${schema}change`);
  await setTo(database, 11);
  assert.equal(await revisionOf(database), 11);
});

test('transactions that wait for each other in a circle are all done', async () => {
  await using database = await opened();
  const { schema } = database.dialect;
  await database.query(`INSERT INTO ${schema}lease VALUES ('a', '', 0), ('b', '', 0)`);
  let runs = 0;
  let [meet, met] = [(): void => undefined, Promise.resolve()];
  met = new Promise((resolve) => (meet = resolve));
  const change = (names: readonly string[]): Promise<void> =>
    database.transaction(async ({ query }) => {
      for (const name of names) {
        await query(`UPDATE ${schema}lease SET until = until + 1 WHERE name = $1`, [name]);
        if (name === names[0] && ++runs === 2) meet();
        await met;
      }
    });
  await Promise.all([change(['a', 'b']), change(['b', 'a'])]);
  assert.ok(runs > 2, 'one of them ran again');
  const { rows } = await database.query(`SELECT until FROM ${schema}lease`);
  assert.deepEqual(rows, [{ until: 2 }, { until: 2 }]);
});

test('where the connection breaks at the commit, it is found out whether that was done, and nothing is done twice', async () => {
  await using proxy = await tcpProxy(() => shared.port);
  await using database = await opened(through(proxy.port, '127.0.0.1', '?sslmode=disable'));
  await setTo(database, 10);
  for (const [how, name, looks] of [
    ['cut-after', 'it was done', 0],
    ['cut', 'it was not', 0],
    ['cut-after', 'it was done, and the first look is lost too', 1],
    ['cut', 'it was not, and the first look is lost too', 1],
  ] as const) {
    let cuts = 0;
    let lost = 0;
    proxy.onRequest = (bytes) => {
      if (bytes.includes('COMMIT\0') && cuts++ === 0) return how;
      return bytes.includes('ON CONFLICT (id)') && lost++ < looks ? 'cut-after' : 'pass';
    };
    await database.transaction(async ({ query }) => {
      await query(`UPDATE ${database.dialect.schema}state SET revision = revision + 1`);
    });
    assert.deepEqual([cuts > 0, lost > looks], [true, true], name);
  }
  assert.equal(await revisionOf(database), 14);
});

test('a connection that was ended while it was not used is replaced, and one that ends in a transaction too', async () => {
  await using database = await opened();
  await setTo(database, 20);
  // Of this file alone: others use the same server.
  const mine = `application_name = 'kgrid kgrid' AND datname = '${shared.name}'`;
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${mine}`;
  assert.ok((await shared.run(end)).length > 0);
  assert.equal(await revisionOf(database), 20);
  let runs = 0;
  await database.transaction(async ({ query }) => {
    if (runs++ === 0) await shared.run(end);
    await query(`UPDATE ${database.dialect.schema}state SET revision = 21`);
  });
  assert.equal(runs, 2);
  assert.equal(await revisionOf(database), 21);
});

test('a server that says nothing is waited for within bounds, and used again when it is back', async () => {
  await using proxy = await tcpProxy(() => shared.port);
  await using patient = await opened();
  await using database = over(through(proxy.port, '127.0.0.1', '?connect_timeout=1'), 300);
  await until('it is connected', () => setTo(database, 30).then(isDone, () => undefined));
  proxy.isSilent = true;
  await assert.rejects(revisionOf(database), { fault: 'timeout', message: /a statement took more than 0.3 s/ });
  await assert.rejects(setTo(database, 31), {
    fault: 'timeout',
    message: /the server said nothing for 1 s while connecting/,
  });
  const before = performance.now();
  await assert.rejects(setTo(database, 31), { fault: 'timeout' });
  assert.ok(performance.now() - before < promised(900), 'at once, while it is known');
  proxy.isSilent = false;
  await until('it is used again', () =>
    database
      .connect()
      .then((connection) => connection.end())
      .then(isDone, () => undefined),
  );
  assert.equal(await until('it answers', () => revisionOf(database).catch(() => undefined)), 30);
  assert.equal(await revisionOf(patient), 30);
});

test('of several hosts the one that can be written to is used', async () => {
  await opened().then((database) => database[Symbol.asyncDispose]());
  const role = `reader_${shared.name}`;
  await shared.run(`CREATE ROLE ${role} LOGIN SUPERUSER; ALTER ROLE ${role} SET default_transaction_read_only = on`);
  await using reader = over(shared.url.replace('kgrid@', `${role}@`), 60_000);
  await assert.rejects(setTo(reader, 1), { fault: 'read-only', sqlState: '25006' });
  await using dead = await tcpProxy(() => 1);
  dead.isClosed = true;
  await using database = await opened(
    `postgres://kgrid@127.0.0.1:${String(dead.port)},127.0.0.1:${String(shared.port)}/${shared.name}?target_session_attrs=read-write`,
  );
  await setTo(database, 40);
  assert.equal(await revisionOf(database), 40);
  await shared.run(`DROP ROLE ${role}`);
});

test('more work than connections waits for its turn', async () => {
  await using database = await opened();
  await setTo(database, 0);
  const add = (): Promise<void> =>
    database.transaction(async ({ query }) => {
      await query(`UPDATE ${database.dialect.schema}state SET revision = revision + 1`);
    });
  await Promise.all(Array.from({ length: 20 }, add));
  assert.equal(await revisionOf(database), 20);
  const [{ count } = {}] = await shared.run(
    `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'kgrid kgrid' AND datname = '${shared.name}'`,
  );
  assert.ok(Number(count) <= 2, String(count));
});
