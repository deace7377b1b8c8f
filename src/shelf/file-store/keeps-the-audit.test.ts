import assert from 'node:assert/strict';
import { appendFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import type { AuditQuery, AuditRecord } from '../audit-store.ts';
import { AuditFiles } from './audit-files.ts';

const MOST = 64 * 1024;
const record = (subject: string, more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...{ who: 'ann', login: 'basic', action: 'import', outcome: 'done', requestId: 'r', remoteAddress: '192.0.2.1' },
  subject,
  ...more,
});
const subjects = async (store: AuditFiles, query: Partial<AuditQuery> = {}): Promise<string[]> =>
  (await store.read({ limit: 100, ...query })).records.map(({ subject }) => subject);

test('records are read in pages, the newest first, and by knowledge object, person and time', async () => {
  await using dir = await temporaryFolder();
  using store = new AuditFiles(dir.path, MOST);
  for (const subject of ['a/b/v1', 'a/b/v2', 'a/bc/v1', 'DELETE /kos/a/b/v1', 'x/y/v1/ a/b/v1/'])
    store.append(record(subject));
  store.append(record('all', { who: 'bob' }));
  const first = await store.read({ limit: 4 });
  assert.deepEqual([first.records.map(({ id }) => id), first.more], [[6, 5, 4, 3], true]);
  const second = await store.read({ limit: 4, after: 3 });
  assert.deepEqual([second.records.map(({ id }) => id), second.more], [[2, 1], false]);
  assert.deepEqual(await subjects(store, { ko: 'a/b/v1' }), ['x/y/v1/ a/b/v1/', 'DELETE /kos/a/b/v1', 'a/b/v1']);
  assert.equal((await subjects(store, { ko: 'a/b' })).length, 4);
  assert.deepEqual(await subjects(store, { who: 'bob' }), ['all']);
  assert.deepEqual(await subjects(store, { since: Date.now() + 1000 }), []);
  assert.equal((await subjects(store, { since: Date.now() - 100_000 })).length, 6);
});

test('a next start goes on where the last one ended, also in the midst of a line', async () => {
  await using dir = await temporaryFolder();
  for (const subject of ['one', 'two', 'three']) {
    using store = new AuditFiles(dir.path, MOST);
    store.append(record(subject));
    await appendFile(join(dir.path, (await readdir(dir.path))[0] ?? ''), '{"id":99,"ti');
  }
  using store = new AuditFiles(dir.path, MOST);
  const { records } = await store.read({ limit: 10 });
  assert.deepEqual(
    records.map(({ id, subject }) => [id, subject]),
    [
      [3, 'three'],
      [2, 'two'],
      [1, 'one'],
    ],
  );
  assert.equal((await readdir(dir.path)).filter((name) => name.endsWith('.jsonl')).length, 1);
});

test('no more is kept than may be, and the oldest goes first', async () => {
  await using dir = await temporaryFolder();
  using store = new AuditFiles(dir.path, MOST);
  for (let i = 1; i <= 2000; i++) store.append(record(`a/b/v${i}`));
  const names = await readdir(dir.path);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(dir.path, name))).size));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total <= MOST && total > MOST / 2, String(total));
  const { records } = await store.read({ limit: 2000 });
  const ids = records.map(({ id }) => id);
  assert.deepEqual(
    ids,
    Array.from(ids, (_, i) => 2000 - i),
  );
  using again = new AuditFiles(dir.path, MOST);
  again.append(record('next'));
  assert.equal((await again.read({ limit: 1 })).records[0]?.id, 2001);
});

test('lines that are no records, and files that are larger than they should be, keep nobody from the others', async () => {
  await using dir = await temporaryFolder();
  {
    using store = new AuditFiles(dir.path, MOST);
    store.append(record('first'));
  }
  const [name = ''] = await readdir(dir.path);
  const odd = [
    'null',
    '7',
    '"text"',
    '[]',
    '{}',
    '{"id":"x","time":5}',
    '\0\0\0',
    '{"id":2,"time":"2026-11-22T00:00:00Z"}',
  ];
  await appendFile(join(dir.path, name), `${odd.join('\n')}\n${'x'.repeat(20_000_000)}\n`);
  using store = new AuditFiles(dir.path, 1e9);
  store.append(record('last'));
  for (const query of [{}, { ko: 'first' }, { who: 'ann' }, { since: 1 }]) {
    const found = await subjects(store, query);
    assert.deepEqual(found, 'ko' in query ? ['first'] : ['last', 'first'], JSON.stringify(query));
  }
  const { records } = await store.read({ limit: 1 });
  assert.ok((records[0]?.id ?? 0) > 1, 'ids grow');
});
