/** Whoever changes records of an audit behind the service is found, in the table of a folder as in that of a fleet. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { fleetDatabase } from '../../fleet/support/fleet-database.ts';
import type { AuditRecord } from './audit-store.ts';
import { AuditTable } from './audit-table.ts';
import { AuditTableToVerify } from './audit-table-to-verify.ts';
import { migrate } from '../store/schema.ts';
import { SqliteDatabase } from '../store/sqlite/sqlite-database.ts';
import { AuditRowsToVerify } from '../postgres/audit-rows-to-verify.ts';
import { AuditRows } from '../postgres/audit-rows.ts';
import { verifyAudit, type AuditVerdict, type NotedHash } from './verify-audit.ts';

const fleet = await fleetDatabase();
after(() => fleet[Symbol.asyncDispose]());
const { query, schema } = fleet.database;

const record = (subject: string): AuditRecord => ({
  ...{ who: 'ann', login: 'basic', action: 'import', outcome: 'done', requestId: 'r', remoteAddress: '192.0.2.1' },
  subject,
});

interface Kept {
  /** Does something to the records, the oldest first, behind the back of the store. */
  edit(change: (lines: string[]) => string[]): Promise<void>;
  verify(noted?: NotedHash[]): Promise<AuditVerdict>;
}

async function inTable(folder: string): Promise<Kept> {
  const database = await SqliteDatabase.open(join(folder, 'shelf.db'));
  after(() => database[Symbol.asyncDispose]());
  await migrate(database, folder);
  const store = new AuditTable(database, 1e6);
  for (let i = 1; i <= 9; i++) await store.append(record(`a/b/v${i}`));
  return {
    async edit(change) {
      const { rows } = await database.query<{ record: string }>('SELECT record FROM audit ORDER BY id');
      await database.query('DELETE FROM audit');
      let id = 0;
      for (const line of change(rows.map((row) => row.record))) {
        const { time, who } = JSON.parse(line) as { time: string; who: string };
        await database.query('INSERT INTO audit (id, at, who, record) VALUES ($1, $2, $3, $4)', [
          ++id,
          Date.parse(time),
          who,
          line,
        ]);
      }
    },
    verify: (noted) => verifyAudit(new AuditTableToVerify(database), noted),
  };
}

async function inRows(): Promise<Kept> {
  await query(`TRUNCATE ${schema}.audit, ${schema}.audit_writer`);
  const store = new AuditRows(fleet.database, 'one', 1e6);
  for (let i = 1; i <= 9; i++) await store.append(record(`a/b/v${i}`));
  return {
    async edit(change) {
      const { rows } = await query<{ record: string }>(`SELECT record FROM ${schema}.audit ORDER BY id`);
      await query(`DELETE FROM ${schema}.audit`);
      await query(`DROP INDEX IF EXISTS ${schema}.audit_chain`);
      for (const line of change(rows.map(({ record }) => record)))
        await query(
          `INSERT INTO ${schema}.audit (time, who, record, writer, number) SELECT (r->>'time')::timestamptz, r->>'who', $1,
            r->>'writer', (r->>'number')::bigint FROM (SELECT $1::json AS r) AS one`,
          [line],
        );
    },
    verify: (noted) => verifyAudit(new AuditRowsToVerify(fleet.database), noted),
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
  ['table', inTable],
  ['rows', inRows],
] as const) {
  for (const [what, change, found] of CASES)
    test(`${name}: ${what}`, async () => {
      await using dir = await temporaryFolder();
      const kept = await start(dir.path);
      await kept.edit(change);
      const { problems } = await kept.verify();
      assert.deepEqual(
        problems.map(({ kind, number }) => `${kind} ${String(number)}`),
        found,
        JSON.stringify(problems),
      );
    });

  test(`${name}: a chain that was made anew from a record on is found by the last hash, and by one that was noted`, async () => {
    await using dir = await temporaryFolder();
    const kept = await start(dir.path);
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

test('rows: many writers at once, in transactions that fail too, each have a chain without gaps', async () => {
  await query(`TRUNCATE ${schema}.audit, ${schema}.audit_writer`);
  const stores = ['n1', 'n2', 'n3'].map((node) => new AuditRows(fleet.database, node, 64 * 1024));
  const writing = stores.map(async (store) => {
    await Promise.all(Array.from({ length: 40 }, (_, i) => store.append(record(`a/b/v${i}`))));
  });
  const failing = Array.from({ length: 10 }, async () => {
    const work = fleet.database.transaction(async (transaction) => {
      await transaction.query(`SELECT ${schema}.append_audit('n1', 'eve', '{"who":"eve"}')`);
      throw new Error('no');
    });
    await assert.rejects(work, /no/);
  });
  await Promise.all([...writing, ...failing]);
  const { problems, writers } = await verifyAudit(new AuditRowsToVerify(fleet.database));
  assert.deepEqual(problems, []);
  assert.deepEqual(
    writers.map(({ writer, number }) => [writer, number]).sort(),
    stores.map((_, i) => [`n${i + 1}`, 40]),
  );
  const first = await stores[0]?.read({ limit: 1000 });
  assert.match(first?.records[0]?.hash ?? '', /^[0-9a-f]{64}$/);
  for (let i = 0; i < 100; i++) await stores[i % 3]?.append(record(`a/b/v${i}`));
  await stores[0]?.trim();
  const trimmed = await verifyAudit(new AuditRowsToVerify(fleet.database));
  assert.deepEqual(trimmed.problems, []);
  assert.ok(trimmed.writers.some((each) => each.trimmed > 0));
  assert.ok(trimmed.writers.every((each) => each.trimmed + each.records === each.number));
  await query(`DELETE FROM ${schema}.audit WHERE id = (SELECT min(id) FROM ${schema}.audit)`);
  assert.deepEqual(
    (await verifyAudit(new AuditRowsToVerify(fleet.database))).problems.map(({ kind }) => kind),
    ['removed'],
  );
  await query(`UPDATE ${schema}.audit SET who = 'eve' WHERE id = (SELECT max(id) FROM ${schema}.audit)`);
  assert.match(
    (await verifyAudit(new AuditRowsToVerify(fleet.database))).problems[0]?.why ?? '',
    /its column who is not as its text says/,
  );
});
