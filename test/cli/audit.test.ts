/** `kgrid audit` shows what was changed, and finds what was done to that since. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { startService } from '../acceptance/support/service.ts';
import { testDatabase } from '../support/postgres/shared.ts';
import { fromTemplate, kgrid, kgridJson, temporaryFolder } from './kgrid.ts';

interface Shown {
  readonly records: { readonly action: string; readonly who: string; readonly hash: string }[];
}

test('audit show asks the activator or the shelf, and audit verify says which record was changed and how', async () => {
  await using folder = await temporaryFolder();
  const shelf = join(folder.path, 'shelf');
  await fromTemplate('javascript', folder.path, 'code');
  await using service = await startService({ shelf });
  const at = ['--url', service.url];
  await kgrid(['push', 'code', '--no-test', ...at], { cwd: folder.path });
  await kgrid(['delete', 'test/code/v1.0', '--yes', ...at]);

  const asked = await kgridJson<Shown>(['audit', 'show', ...at]);
  const read = await kgridJson<Shown>(['audit', 'show', shelf]);
  assert.deepEqual(read.json.records, asked.json.records);
  assert.ok(asked.json.records.length >= 3 && asked.json.records.every(({ hash }) => /^[0-9a-f]{64}$/.test(hash)));
  const deleted = await kgridJson<Shown>([
    'audit',
    'show',
    shelf,
    '--ko',
    '/test/code/v1.0',
    '--since',
    '1h',
    '--limit',
    '1',
  ]);
  assert.deepEqual(
    deleted.json.records.map(({ action, who }) => [action, who]),
    [['delete', 'dev']],
  );
  const table = await kgrid(['audit', 'show', '--ko', 'test/code'], { env: { KGRID_URL: service.url } });
  assert.match(table.stdout, /^TIME +WHO +ACTION +OUTCOME +SUBJECT .*\n\S+Z +dev +delete +done +test\/code\/v1\.0 /);
  assert.match((await kgrid(['audit', 'show', shelf, '--who', 'nobody'])).stdout, /^There are no such records/);

  const whole = await kgrid(['audit', 'verify', shelf]);
  assert.equal(whole.code, 0, whole.stdout + whole.stderr);
  assert.match(whole.stdout, /\d+ records of \S+\n {2}\S+\/\d+\/[0-9a-f]{64}\nNothing was changed\n$/);
  const noted = /^ {2}(\S+)$/m.exec(whole.stdout)?.[1] ?? '';
  await service.stop();
  const rows = auditRows(shelf);
  changeAudit(shelf, `UPDATE audit SET record = replace(record, '"action":"delete"', '"action":"reload"')`);
  const found = await kgrid(['audit', 'verify'], { env: { KGRID_SHELF: shelf } });
  assert.equal(found.code, 1, found.stderr);
  assert.match(found.stdout, /^changed {4}record \d+, number \d+, of \S+: its text does not have its hash$/m);
  changeAudit(shelf, 'DELETE FROM audit WHERE id = 1');
  assert.match((await kgrid(['audit', 'verify', shelf])).stdout, /^removed +number 1, of \S+: number 1 is not there/m);
  changeAudit(shelf, 'DELETE FROM audit');
  for (const row of rows) changeAudit(shelf, 'INSERT INTO audit (id, at, who, record) VALUES (?, ?, ?, ?)', ...row);
  assert.equal((await kgrid(['audit', 'verify', shelf, '--noted', noted])).code, 0);
  assert.equal(
    (await kgrid(['audit', 'verify', shelf, '--noted', noted.replace(/.$/, (c) => (c === '0' ? '1' : '0'))])).code,
    1,
  );
});

test('an audit that is not there is said to be so, and what is called wrongly too', async () => {
  await using folder = await temporaryFolder();
  const cases: readonly [readonly string[], number, RegExp][] = [
    [
      ['verify', folder.path],
      3,
      /The audit of the shelf cannot be read \(there is no database .kgrid\/shelf\.db in .*\): name the shelf/,
    ],
    [['verify'], 2, /Name the shelf whose audit is meant/],
    [['verify', folder.path, '--noted', 'x'], 2, /--noted is 'x', but must be/],
    [['show', folder.path, '--since', 'yesterday'], 2, /--since is 'yesterday', but must be a date/],
    [['show', folder.path, '--limit', '0'], 2, /--limit is '0'/],
    [['show', 's3://x/y'], 3, /a shelf at s3: cannot be opened/],
    [['verify', 'postgres://127.0.0.1:1/none'], 3, /The audit of the fleet kgrid cannot be read/],
  ];
  for (const [args, code, said] of cases) {
    const ended = await kgrid(['audit', ...args]);
    assert.equal(ended.code, code, args.join(' ') + ended.stderr);
    assert.match(ended.stderr, said);
  }
});

test('the audit of a fleet is verified in its database', async () => {
  await using database = await testDatabase();
  await using folder = await temporaryFolder();
  await fromTemplate('javascript', folder.path, 'code');
  await using service = await startService({ shelf: database.url });
  await kgrid(['push', 'code', '--no-test', '--url', service.url], { cwd: folder.path });
  const { json } = await kgridJson<Shown>(['audit', 'show', database.url]);
  assert.ok(json.records.some(({ action }) => action === 'import'));
  const whole = await kgrid(['audit', 'verify', database.url]);
  assert.equal(whole.code, 0, whole.stdout + whole.stderr);
  await database.run(`DELETE FROM kgrid.audit WHERE id = (SELECT min(id) FROM kgrid.audit)`);
  const found = await kgrid(['audit', 'verify', database.url]);
  assert.equal(found.code, 1, found.stderr);
  assert.match(found.stdout, /^removed +number 1, of \S+: number 1 is not there, before number 2$/m);
});

/** What anybody may do who can write the file. */
function changeAudit(shelf: string, sql: string, ...values: (string | number)[]): void {
  using database = new DatabaseSync(join(shelf, '.kgrid/shelf.db'));
  assert.ok(database.prepare(sql).run(...values).changes > 0, sql);
}

function auditRows(shelf: string): (string | number)[][] {
  using database = new DatabaseSync(join(shelf, '.kgrid/shelf.db'));
  const rows = database.prepare('SELECT id, at, who, record FROM audit').all();
  return rows.map((row) => Object.values(row).map((value) => (typeof value === 'number' ? value : String(value))));
}
