/** Whoever changes records of an audit behind the service is found, in the table of a folder as in that of a fleet. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { testDatabase } from '../../../test/support/postgres/shared.ts';
import type { Database } from '../store/database.ts';
import { PostgresDatabase } from '../store/postgres/postgres-database.ts';
import { migrate } from '../store/schema.ts';
import { SqliteDatabase } from '../store/sqlite/sqlite-database.ts';
import type { AuditRecord } from './audit-store.ts';
import { appendAudit, AuditTable } from './audit-table.ts';
import { verifyAudit, type AuditVerdict, type NotedHash } from './verify-audit.ts';

const folder = await mkdtemp(join(tmpdir(), 'kgrid-audit-'));
const shared = await testDatabase();
const databases: Database[] = [];
after(async () => {
  for (const each of databases) await each[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
  await shared[Symbol.asyncDispose]();
});

async function opened(database: Database): Promise<Database> {
  databases.push(database);
  await migrate(database, 'a test');
  return database;
}

let made = 0;
const inSqlite = async (): Promise<Database> => opened(await SqliteDatabase.open(join(folder, `${String(++made)}.db`)));
const inPostgres = (): Promise<Database> =>
  opened(new PostgresDatabase(shared.url, { fleet: `audit-${String(++made)}` }));

const record = (subject: string): AuditRecord => ({
  ...{ who: 'ann', login: 'basic', action: 'import', outcome: 'done', requestId: 'r', remoteAddress: '192.0.2.1' },
  subject,
});

interface Kept {
  /** Does something to the records, the oldest first, behind the back of the store. */
  edit(change: (lines: string[]) => string[]): Promise<void>;
  verify(noted?: NotedHash[]): Promise<AuditVerdict>;
}

async function keptIn(database: Database): Promise<Kept> {
  const { query, dialect } = database;
  const { schema } = dialect;
  const store = new AuditTable(database, 1e6);
  for (let i = 1; i <= 9; i++) await store.append(record(`a/b/v${i}`));
  return {
    async edit(change) {
      const { rows } = await query<{ record: string }>(`SELECT record FROM ${schema}audit ORDER BY id`);
      await query(`DELETE FROM ${schema}audit`);
      let id = 0;
      for (const line of change(rows.map((row) => row.record))) {
        const { time, who } = JSON.parse(line) as { time: string; who: string };
        await query(`INSERT INTO ${schema}audit (id, at, who, record) VALUES ($1, $2, $3, $4)`, [
          ++id,
          Date.parse(time),
          who,
          line,
        ]);
      }
    },
    verify: (noted) => verifyAudit(database, noted),
  };
}

const swapped = ([a = '', b = '', ...rest]: string[]): string[] => [b, a, ...rest];
const without =
  (from: number, to = from) =>
  (lines: string[]) =>
    lines.filter((_, i) => i + 1 < from || i + 1 > to);
const changed = (number: number, change: (line: string) => string) => (lines: string[]) =>
  lines.map((line, i) => (i + 1 === number ? change(line) : line));
const again = (lines: string[]): string[] => [...lines.slice(0, 5), lines[2] ?? '', ...lines.slice(5)];
const unchained = JSON.stringify({ id: 20, time: '2026-11-22T00:00:00.000Z', ...record('a/b/v4') });

const CASES: readonly [string, (lines: string[]) => string[], readonly string[]][] = [
  ['nothing', (lines) => lines, []],
  ['a record says another person', changed(4, (line) => line.replace('"ann"', '"bob"')), ['changed 4']],
  ['a record has another number', changed(4, (line) => line.replace('"number":4', '"number":400')), ['changed 400']],
  ['the last record is another', changed(9, (line) => line.replace('v9', 'v8')), ['changed 9']],
  ['a record is away', without(4), ['removed 4']],
  ['several are away', without(3, 6), ['removed 3']],
  ['the first ones are away', without(1, 2), ['removed 1']],
  ['the last ones are away', without(8, 9), ['removed 8']],
  ['all are away', () => [], ['removed 1']],
  ['two have changed places', swapped, ['reordered 1']],
  ['one is there twice', again, ['inserted 3']],
  ['one was put in', (lines) => [...lines.slice(0, 4), unchained, ...lines.slice(4)], ['inserted undefined']],
  [
    'the chain was taken off one',
    changed(4, (line) => line.replace(/,"writer":.*$/, '}')),
    ['inserted undefined', 'removed 4'],
  ],
];

for (const [name, start] of [
  ['SQLite', inSqlite],
  ['PostgreSQL', inPostgres],
] as const) {
  for (const [what, change, found] of CASES)
    test(`${name}: ${what}`, async () => {
      const kept = await keptIn(await start());
      await kept.edit(change);
      const { problems } = await kept.verify();
      assert.deepEqual(
        problems.map(({ kind, number }) => `${kind} ${String(number)}`),
        found,
        JSON.stringify(problems),
      );
    });

  test(`${name}: a chain that was made anew from a record on is found by the last hash, and by one that was noted`, async () => {
    const kept = await keptIn(await start());
    const [noted] = (await kept.verify()).writers;
    assert.equal(noted?.number, 9);
    assert.deepEqual((await kept.verify([noted])).problems, []);
    const other = { ...noted, number: 3, hash: 'f'.repeat(64) };
    assert.deepEqual(
      (await kept.verify([other])).problems.map(({ kind, number }) => [kind, number]),
      [['changed', 3]],
    );
    assert.equal((await kept.verify([{ ...noted, number: 12 }])).problems.length, 1);
  });
}

test('PostgreSQL: what several processes write at once, in transactions that fail too, is one chain without gaps', async () => {
  const database = await inPostgres();
  const { schema } = database.dialect;
  const fleet = `audit-${String(made)}`;
  const stores = [
    database,
    new PostgresDatabase(shared.url, { fleet }),
    new PostgresDatabase(shared.url, { fleet }),
  ].map((each) => {
    databases.push(each);
    return new AuditTable(each, 64 * 1024);
  });
  const writing = stores.map(async (store) => {
    await Promise.all(Array.from({ length: 40 }, (_, i) => store.append(record(`a/b/v${i}`))));
  });
  const failing = Array.from({ length: 10 }, async () => {
    const work = database.transaction(
      async ({ query }) => {
        await appendAudit(query, database, record('eve'));
        throw new Error('no');
      },
      { isExclusive: true },
    );
    await assert.rejects(work, /no/);
  });
  await Promise.all([...writing, ...failing]);
  const { problems, writers } = await verifyAudit(database);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    writers.map(({ number, records }) => [number, records]),
    [[120, 120]],
  );
  for (let i = 0; i < 100; i++) await stores[i % 3]?.append(record(`a/b/v${i}`));
  await stores[0]?.trim();
  const trimmed = await verifyAudit(database);
  assert.deepEqual(trimmed.problems, []);
  assert.ok(trimmed.writers.every((each) => each.trimmed > 0 && each.trimmed + each.records === each.number));
  await database.query(`DELETE FROM ${schema}audit WHERE id = (SELECT min(id) FROM ${schema}audit)`);
  assert.deepEqual(
    (await verifyAudit(database)).problems.map(({ kind }) => kind),
    ['removed'],
  );
  await database.query(`UPDATE ${schema}audit SET who = 'eve' WHERE id = (SELECT max(id) FROM ${schema}audit)`);
  const { problems: found } = await verifyAudit(database);
  assert.ok(found.some(({ why }) => why === 'its column who is not as its text says'));
});
