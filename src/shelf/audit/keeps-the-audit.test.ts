import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { migrate } from '../store/schema.ts';
import { SqliteDatabase } from '../store/sqlite/sqlite-database.ts';
import type { AuditQuery, AuditRecord } from './audit-store.ts';
import { AuditTable } from './audit-table.ts';
import { verifyAudit } from './verify-audit.ts';

const MOST = 64 * 1024;
const record = (subject: string, more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...{ who: 'ann', login: 'basic', action: 'import', outcome: 'done', requestId: 'r', remoteAddress: '192.0.2.1' },
  subject,
  ...more,
});

async function opened(folder: string): Promise<SqliteDatabase> {
  const database = await SqliteDatabase.open(join(folder, 'shelf.db'));
  await migrate(database, folder);
  return database;
}

const subjects = async (store: AuditTable, query: Partial<AuditQuery> = {}): Promise<string[]> =>
  (await store.read({ limit: 100, ...query })).records.map(({ subject }) => subject);

test('a record is read as soon as it is on its way, and who follows hears of it', async () => {
  await using dir = await temporaryFolder();
  await using database = await opened(dir.path);
  const store = new AuditTable(database, MOST);
  await store.append(record('before'));
  const follower = await store.follow();
  const kept = store.append(record('now'));
  assert.deepEqual(await subjects(store), ['now', 'before']);
  await kept;
  assert.deepEqual(
    (await follower.next()).map(({ subject }) => subject),
    ['now'],
  );
  assert.deepEqual(await follower.next(), []);
});

test('no more is kept than may be, the oldest goes first, and a record of it stays in the chain', async () => {
  await using dir = await temporaryFolder();
  await using database = await opened(dir.path);
  const store = new AuditTable(database, MOST);
  for (let i = 1; i <= 500; i++) await store.append(record(`a/b/v${i}`));
  const { records } = await store.read({ limit: 2000 });
  const bytes = records.reduce((sum, each) => sum + JSON.stringify(each).length, 0);
  assert.ok(bytes <= MOST && bytes > MOST / 2, String(bytes));
  assert.ok(records.some(({ action }) => action === 'trim audit'));
  const ids = records.map(({ id }) => id);
  assert.deepEqual(
    ids,
    Array.from(ids, (_, i) => (ids[0] ?? 0) - i),
  );
  const verdict = await verifyAudit(database);
  assert.deepEqual(verdict.problems, []);
  assert.ok((verdict.writers[0]?.trimmed ?? 0) > 0);
});

test('an audit whose records were deleted does not verify, whatever its head says', async () => {
  await using dir = await temporaryFolder();
  await using database = await opened(dir.path);
  const store = new AuditTable(database, MOST);
  for (let i = 1; i <= 9; i++) await store.append(record(`a/b/v${i}`));
  await database.query('DELETE FROM audit');
  await database.query('UPDATE audit_head SET trimmed = number, trimmed_hash = hash, bytes = 0');
  const { problems } = await verifyAudit(database);
  assert.match(
    problems.map(({ why }) => why).join(),
    /numbers 1 to 9 are not there, and no record says that they went/,
  );
});
