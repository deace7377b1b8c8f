/** What version 0.1 wrote into PostgreSQL is taken over at the first start, once, and can be gone back to. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { contentOf, contentOn, koId } from '../../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../../test/conformance/temporary-folder.ts';
import { until } from '../../../../test/runtimes/support/until.ts';
import { testDatabase, type TestDatabase } from '../../../../test/support/postgres/shared.ts';
import { koKey } from '../../../knowledge-object/id.ts';
import { AuditTable } from '../../audit/audit-table.ts';
import { verifyAudit, type AuditVerdict } from '../../audit/verify-audit.ts';
import { openPostgresShelf } from '../postgres/open-postgres-shelf.ts';
import { PostgresDatabase } from '../postgres/postgres-database.ts';
import { migrate } from '../schema.ts';
import type { StoredShelf } from '../stored-shelf.ts';

const WRITTEN = readFileSync(join(import.meta.dirname, '../../../../test/support/upgrade/version-0-1.sql'), 'utf8');
const DOCUMENTED = /### Upgrading a database in PostgreSQL\n.*?```sql\n(.*?)```.*?```sql\n(.*?)```/s;
const [, TO_GO_BACK = '', TO_REMOVE = ''] =
  DOCUMENTED.exec(readFileSync(join(import.meta.dirname, '../../../../docs/operations.md'), 'utf8')) ?? [];
const MORE_AUDIT = `
  UPDATE kgrid.audit SET id = id + 100; UPDATE kgrid.audit_start SET id = 101;
  SELECT setval('kgrid.audit_id_seq', 200);
  INSERT INTO kgrid.audit (id, time, who, record) VALUES (1, '2026-01-02 03:04:05.678901Z', 'ann',
    '{"who":"ann","login":"basic","action":"import","subject":"a/b/v1","outcome":"done","requestId":"","remoteAddress":""}');
  WITH gone AS (DELETE FROM kgrid.audit WHERE writer = (SELECT min(writer) FROM kgrid.audit) AND number <= 2 RETURNING *)
    UPDATE kgrid.audit_writer w SET trimmed = gone.number, trimmed_hash = substring(gone.record FROM '"hash":"([0-9a-f]{64})"}$')
    FROM gone WHERE gone.writer = w.writer AND gone.number = 2`;

/** A database as version 0.1 left it. Its user owns the schema, and nothing else. */
async function oldDatabase(): Promise<TestDatabase & { readonly ownerUrl: string }> {
  const database = await testDatabase();
  const role = `owner_${database.name}`;
  await database.run(`CREATE ROLE ${role} LOGIN; CREATE SCHEMA kgrid AUTHORIZATION ${role}`);
  await database.run(`SET ROLE ${role}; ${WRITTEN}; ${MORE_AUDIT}`);
  return {
    ...database,
    ownerUrl: database.url.replace('kgrid@', `${role}@`),
    async [Symbol.asyncDispose]() {
      await database.run(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
      await database[Symbol.asyncDispose]();
    },
  };
}

const ROWS = (table: string): string =>
  `SELECT coalesce(jsonb_agg(t ORDER BY t::text), '[]') AS rows FROM kgrid.${table} t`;
const TABLES = `SELECT relname FROM pg_class WHERE relnamespace = 'kgrid'::regnamespace ORDER BY 1`;

/** All that is in the schema. */
async function contentIn(database: TestDatabase): Promise<unknown> {
  const names = (await database.run(TABLES)).map(({ relname }) => String(relname));
  const tables = (await database.run(`SELECT tablename FROM pg_tables WHERE schemaname = 'kgrid' ORDER BY 1`)).map(
    ({ tablename }) => String(tablename),
  );
  return { names, rows: await Promise.all(tables.map(async (each) => [each, await database.run(ROWS(each))])) };
}

async function take(url: string): Promise<void> {
  await using database = new PostgresDatabase(url, { fleet: 'kgrid' });
  await migrate(database, 'here');
}

async function verified(url: string): Promise<AuditVerdict> {
  await using database = new PostgresDatabase(url, { fleet: 'kgrid' });
  return await verifyAudit(database);
}

async function opened(url: string, folder: string): Promise<StoredShelf> {
  return openPostgresShelf(url, { folder, keepRemoved: { count: 10, age: Number.MAX_SAFE_INTEGER } });
}

test('the shelf, what is kept, what is active and the audit are taken over, once', async () => {
  await using folder = await temporaryFolder();
  await using old = await oldDatabase();
  const kos = await old.run(
    `SELECT naan || '/' || name || '/' || version AS id, digest, metadata, at_id, etag FROM kgrid.ko WHERE NOT removed ORDER BY 1`,
  );
  const files = await old.run(
    `SELECT encode(c.bytes, 'hex') AS bytes, f.path, k.naan || '/' || k.name || '/' || k.version AS id FROM kgrid.ko k
      JOIN kgrid.package_file f ON f.package = k.digest LEFT JOIN kgrid.blob_chunk c ON c.digest = f.blob ORDER BY 3, 2`,
  );
  const active = await old.run(
    `SELECT digest, generation, naan || '/' || name || '/' || version AS id FROM kgrid.active`,
  );
  const kept = await old.run(
    `SELECT naan || '/' || name || '/' || version AS id, digest, why, (extract(epoch FROM removed) * 1000)::float8 AS at FROM kgrid.kept ORDER BY 1`,
  );
  await take(old.ownerUrl);
  const tables = await contentIn(old);
  {
    await using shelf = await opened(old.ownerUrl, folder.path);
    const entries = await shelf.list();
    assert.deepEqual(
      entries.map(({ id, digest, metadata, atId, etag }) => ({
        id: koKey(id),
        digest,
        metadata,
        at_id: atId ?? null,
        etag,
      })),
      kos,
    );
    for (const { id } of kos) {
      const expected = files.filter((each) => each['id'] === id).map(({ path, bytes }) => [path, text(bytes)]);
      assert.deepEqual(await contentOn(shelf, String(id)), Object.fromEntries(expected));
    }
    const removed = (await shelf.removed()).map((each) => ({
      ...each,
      id: koKey(each.id),
      at: each.removed.getTime(),
    }));
    assert.deepEqual(
      removed.map(({ id, digest, why, at }) => ({ id, digest, why, at })).sort((a, b) => (a.id < b.id ? -1 : 1)),
      kept,
    );
    const back = await shelf.openRemoved(koId('uspstf/aaascreening/v1.0'), String(kept[1]?.['digest']));
    assert.match(String((await contentOf(back))['service.yaml']), /openapi/);
    back.release();
    await shelf.restore(koId('uspstf/aaascreening/v1.0'), {});
    assert.equal((await shelf.list()).length, kos.length + 1);
    assert.deepEqual(shelf.damage(), []);
  }
  assert.deepEqual(await old.run(`SELECT digest, generation, id FROM kgrid.active`), active);
  const [state] = await old.run(
    `SELECT s.revision, s.generation, s.started::text, decode(s.call_key, 'base64') = o.call_key AS same_key FROM kgrid.state s, kgrid.before_0_2_state o`,
  );
  assert.deepEqual(state, { revision: '9', generation: '9', started: '1', same_key: true });
  assert.deepEqual(await old.run('SELECT selection::jsonb FROM kgrid.activation WHERE generation = 1'), [
    { selection: { what: 'all' } },
  ]);
  await take(old.ownerUrl);
  assert.deepEqual(await namesIn(old), namesOf(tables));
});

const text = (hex: unknown): string => (typeof hex === 'string' ? Buffer.from(hex, 'hex').toString() : '');
const namesOf = (content: unknown): unknown => (content as { names: unknown }).names;
const namesIn = async (database: TestDatabase): Promise<unknown> => namesOf(await contentIn(database));

test('the chains of all nodes verify after it, and go on as one; what is taken from them is found', async () => {
  await using old = await oldDatabase();
  const writers = await old.run('SELECT writer, number::int, trimmed::int FROM kgrid.audit_writer ORDER BY 1');
  await take(old.ownerUrl);
  const { problems, older, writers: found } = await verified(old.ownerUrl);
  assert.deepEqual([problems, older], [[], 1]);
  const earlier = found.filter(({ writer }) => writers.some((each) => each['writer'] === writer));
  assert.deepEqual(
    earlier
      .map(({ writer, number, trimmed }) => ({ writer, number, trimmed }))
      .sort((a, b) => (a.writer < b.writer ? -1 : 1)),
    writers,
  );
  {
    await using database = new PostgresDatabase(old.ownerUrl, { fleet: 'kgrid' });
    const audit = new AuditTable(database, 4000);
    const [oldest] = (await audit.read({ limit: 100 })).records.slice(-1);
    assert.deepEqual([oldest?.id, oldest?.time, oldest?.who], [1, '2026-01-02T03:04:05.678Z', 'ann']);
    await audit.append({ ...RECORD, subject: 'x/y/v1' });
  }
  // The oldest went, of both nodes, because there were too many.
  assert.deepEqual((await verified(old.ownerUrl)).problems, []);
  const [last] = await old.run(
    `SELECT max(id) AS id FROM kgrid.audit WHERE record LIKE '%"writer":"${String(writers[1]?.['writer'])}"%'`,
  );
  await old.run(`DELETE FROM kgrid.audit WHERE id = ${String(last?.['id'])}`);
  assert.deepEqual(
    (await verified(old.ownerUrl)).problems.map(({ kind, writer }) => [kind, writer]),
    [['removed', writers[1]?.['writer']]],
  );
});

const RECORD = {
  who: 'ann',
  login: 'basic',
  action: 'import',
  outcome: 'done',
  requestId: '',
  remoteAddress: '',
} as const;

test('while an activator of version 0.1 runs nothing is taken over', async () => {
  await using old = await oldDatabase();
  await old.run('UPDATE kgrid.node SET heartbeat = now()');
  const before = await contentIn(old);
  await assert.rejects(take(old.ownerUrl), {
    code: 'start-refused',
    message: /activators of version 0\.1 run on the database of here: stop vm:24000, vm:24001, and start/,
  });
  assert.deepEqual(await contentIn(old), before);
});

test('where it is interrupted the old tables are as they were, and the next start takes them over', async () => {
  await using old = await oldDatabase();
  const before = await contentIn(old);
  await old.run(
    `INSERT INTO kgrid.ko SELECT 'no id', name, version, digest, metadata, at_id, etag, 9, false FROM kgrid.ko WHERE NOT removed LIMIT 1`,
  );
  await assert.rejects(take(old.ownerUrl), { message: /no id/ });
  await old.run(`DELETE FROM kgrid.ko WHERE naan = 'no id'`);
  assert.deepEqual(await contentIn(old), before);
  // It waits for a reader of the last of the old tables, and is ended there.
  const reader = old
    .run(`BEGIN; LOCK TABLE kgrid.engine_refresh IN ACCESS SHARE MODE; SELECT pg_sleep(60)`)
    .catch(() => undefined);
  await until('the reader is there', () => waiting(old, 'PgSleep'));
  const taken = take(old.ownerUrl);
  taken.catch(() => undefined);
  await until('it waits', () => waiting(old, 'relation'));
  await end(old, 'relation');
  await assert.rejects(taken);
  await end(old, 'PgSleep');
  await reader;
  assert.deepEqual(await contentIn(old), before);
  await take(old.ownerUrl);
  assert.equal((await old.run('SELECT 1 FROM kgrid.ko')).length, 3);
});

const waiting = async (database: TestDatabase, event: string): Promise<true | undefined> => {
  const found = await database.run(
    `SELECT 1 FROM pg_stat_activity WHERE wait_event = '${event}' AND datname = '${database.name}'`,
  );
  return found.length > 0 ? true : undefined;
};
const end = (database: TestDatabase, event: string): Promise<unknown> =>
  database.run(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = '${event}' AND datname = '${database.name}'`,
  );

test('the documented statements go back to what was put aside, and remove it', async () => {
  await using old = await oldDatabase();
  const before = await contentIn(old);
  await take(old.ownerUrl);
  await old.run(TO_GO_BACK);
  assert.deepEqual(await contentIn(old), before);
  await take(old.ownerUrl);
  await old.run(TO_REMOVE);
  assert.doesNotMatch(JSON.stringify(await namesIn(old)), /before_0_2/);
  assert.equal((await old.run('SELECT 1 FROM kgrid.ko')).length, 3);
});

test('what is not clear stops the start and says what to do', async () => {
  await using old = await oldDatabase();
  await take(old.ownerUrl);
  await old.run(`CREATE TABLE kgrid.before_0_2_more (); ${TO_GO_BACK}; CREATE TABLE kgrid.before_0_2_more ()`);
  await assert.rejects(take(old.ownerUrl), {
    code: 'start-refused',
    message: /begin with before_0_2_: drop them first/,
  });
  await old.run('DROP TABLE kgrid.before_0_2_more; DROP TABLE kgrid.lease');
  await assert.rejects(take(old.ownerUrl), {
    code: 'start-refused',
    message: /of version 0\.1 and not whole \(missing: lease\)/,
  });
});
