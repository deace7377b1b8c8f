import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { contentOn, failsWith, filesOf, koId, metadataOf, put } from '../../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../../test/conformance/temporary-folder.ts';
import { testDatabase } from '../../../../test/support/postgres/shared.ts';
import { tcpProxy, type TcpProxy } from '../../../../test/support/postgres/tcp-proxy.ts';
import { promised } from '../../../../test/support/promised.ts';
import { koKey } from '../../../knowledge-object/id.ts';
import { openPostgresShelf, type PostgresShelfOptions } from './open-postgres-shelf.ts';
import type { StoredShelf } from '../stored-shelf.ts';

const shared = await testDatabase();
const folder = await temporaryFolder();
after(async () => {
  await shared[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

let opened = 0;
const open = (
  fleet: string,
  more: Partial<PostgresShelfOptions> = {},
  port = shared.port,
  parameters = '',
): Promise<StoredShelf> =>
  openPostgresShelf(`postgres://kgrid:hidden@127.0.0.1:${String(port)}/${shared.name}?connect_timeout=2${parameters}`, {
    folder: join(folder.path, String(++opened)),
    fleet,
    ...more,
  });
async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let turns = 0; turns < 200; turns++) {
    if (await holds()) return;
    await wait(50);
  }
  assert.fail(what);
}
const refused = failsWith('shelf-unavailable', /so nothing can be changed: try again later\. Calls and reads go on\.$/);
const away = (proxy: TcpProxy): void => {
  proxy.isClosed = true;
  proxy.cutAll();
};

test('what one node changes the others see, in the order in which it was made', async () => {
  await using one = await open('seen');
  await using other = await open('seen');
  const before = await other.revision();
  const first = await put(one, 'a/b/v1');
  await put(one, 'a/b/v2');
  // What comes and goes between two looks is no change for who looks.
  await until('the second is seen', async () => (await other.find(koId('a/b/v2'))) !== undefined);
  await one.remove(koId('a/b/v2'));
  await until('it is seen', () => other.reached.revision >= one.reached.revision);
  assert.deepEqual(await other.list(), [first]);
  assert.deepEqual([...new Set((await other.changes(before))?.map(koKey))].sort(), ['a/b/v1', 'a/b/v2']);
  assert.deepEqual(await contentOn(other, 'a/b/v1'), filesOf('a/b/v1'));
  await assert.rejects(one.replaceMetadata(koId('a/b/v1'), '{}', ['"x"']), failsWith('precondition-failed'));
  const changed = await other.replaceMetadata(koId('a/b/v1'), metadataOf('a/b/v1', 'other'), [first.etag]);
  await assert.rejects(one.remove(koId('a/b/v1'), [first.etag]), failsWith('precondition-failed'));
  await one.rescan();
  assert.deepEqual(await one.list(), [changed]);
});

test('without the database reads go on, changes are refused at once, and all heals by itself', async () => {
  await using proxy = await tcpProxy(() => shared.port);
  await using far = await open('away');
  await using shelf = await open('away', {}, proxy.port);
  const big = 'x'.repeat(2 ** 20 + 7);
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { big }));
  await put(far, 'a/b/v2', filesOf('a/b/v2', { 'other.js': 'only far' }));
  await until('both are known', async () => (await shelf.list()).length === 2);
  away(proxy);
  await until('it is noticed', () => shelf.condition().problem !== undefined);
  assert.doesNotMatch(JSON.stringify(shelf.condition()), /hidden/);
  assert.equal((await shelf.list()).length, 2);
  await shelf.check();
  assert.equal(
    ((await contentOn(shelf, 'a/b/v1').catch(() => ({}))) as Record<string, string>)['metadata.json'],
    undefined,
    'the large file was never read here',
  );
  await assert.rejects(contentOn(shelf, 'a/b/v2'), failsWith('shelf-not-readable'));
  const began = performance.now();
  await assert.rejects(put(shelf, 'a/b/v3'), refused);
  await assert.rejects(
    shelf.remove(koId('a/b/v1')).catch((thrown: unknown) => Promise.reject(thrown as Error)),
    refused,
  );
  await shelf.rescan();
  assert.ok(performance.now() - began < promised(3000));
  const meanwhile = await put(far, 'a/b/v4');
  proxy.isClosed = false;
  await until('it is back', () => shelf.condition().problem === undefined);
  assert.deepEqual(await shelf.find(koId('a/b/v4')), meanwhile);
  assert.equal((await contentOn(shelf, 'a/b/v1'))['big'], big);
  away(proxy);
  await until('it is noticed again', () => shelf.condition().problem !== undefined);
  assert.equal((await contentOn(shelf, 'a/b/v1'))['big'], big, 'what was read once lies here');
  proxy.isClosed = false;
  await until('it is back again', () => shelf.condition().problem === undefined);
  await put(shelf, 'a/b/v5');
});

test('a node that has lost its connections to a slow database makes new ones, and follows the others', async () => {
  await using proxy = await tcpProxy(() => shared.port);
  await using far = await open('slow');
  await using shelf = await open('slow', {}, proxy.port);
  // To connect takes several turns, each less and all together more than `connect_timeout`.
  proxy.delay = 800;
  proxy.cutAll();
  const changed = await put(far, 'a/b/v1');
  await until('it is followed', async () => (await shelf.find(koId('a/b/v1')))?.etag === changed.etag);
  const sql = `SELECT pid, backend_start FROM pg_stat_activity
    WHERE application_name = 'kgrid slow' AND datname = '${shared.name}' AND query LIKE '%changes_from%' ORDER BY 1`;
  const connections = await shared.run(sql);
  const again = await put(far, 'a/b/v2');
  await until('it is followed', async () => (await shelf.find(koId('a/b/v2')))?.etag === again.etag);
  assert.equal(connections.length, 2);
  assert.deepEqual(await shared.run(sql), connections, 'each follows over the connection that it has');
});

test('of a change whose end is not known it is said that it may be done', async () => {
  await using proxy = await tcpProxy(() => shared.port);
  await using shelf = await open('unsure', {}, proxy.port, '&sslmode=disable');
  proxy.onRequest = (bytes) => {
    if (proxy.isClosed) return 'cut';
    if (!bytes.includes('COMMIT\0')) return 'pass';
    proxy.isClosed = true;
    return 'cut-after';
  };
  await using plain = await open('unsure', {}, shared.port);
  await assert.rejects(
    put(shelf, 'a/b/v1'),
    failsWith(
      'outcome-unknown',
      /^The connection to the database broke at the end of this change, .* may be done or not/,
    ),
  );
  await plain.rescan();
  assert.ok((await plain.find(koId('a/b/v1'))) !== undefined, 'it was done');
});

test('a node that starts without the database waits for it', async () => {
  await using proxy = await tcpProxy(() => shared.port);
  proxy.isClosed = true;
  await using shelf = await open('waits', {}, proxy.port);
  let isReady = false;
  const ready = shelf.ready().then(() => (isReady = true));
  await assert.rejects(shelf.list(), failsWith('shelf-not-readable'));
  await assert.rejects(shelf.check());
  await assert.rejects(put(shelf, 'a/b/v1'), refused);
  assert.equal(isReady, false);
  proxy.isClosed = false;
  await ready;
  await put(shelf, 'a/b/v1');
  assert.equal((await shelf.list()).length, 1);
});

test('what can never go well stops the start, with what to do and without the password', async () => {
  await shared.run('CREATE SCHEMA taken; CREATE TABLE taken.users ()');
  const at = `127.0.0.1:${String(shared.port)}`;
  await open('changed').then((shelf) => shelf[Symbol.asyncDispose]());
  await shared.run('ALTER TABLE changed.ko DROP COLUMN etag');
  for (const [location, fleet, message] of [
    [
      `postgres://nobody.such:hidden@${at}/${shared.name}`,
      'x',
      /refuses the login: check the user in --shelf and the password/,
    ],
    [`postgres://kgrid:hidden@${at}/no_such`, 'x', /does not have that database: create it/],
    [`postgres://kgrid:hidden@${at}/${shared.name}?sslmode=verify-full&sslrootcert=system`, 'x', /cannot be trusted/],
    [
      `postgres://kgrid:hidden@${at}/${shared.name}`,
      'taken',
      /schema taken belongs to another program: name another place for the shelf, such as another --fleet/,
    ],
    [
      `postgres://kgrid:hidden@${at}/${shared.name}`,
      'changed',
      /its schema changed is not whole: restore a backup, or name another with --fleet \(column "etag" does not exist/,
    ],
    [
      `postgres://tls:hidden@${at}/${shared.name}?sslmode=disable`,
      'x',
      /does not let this user in from here, or not this way: look at its pg_hba.conf, and at sslmode in --shelf/,
    ],
  ] as const)
    await assert.rejects(
      openPostgresShelf(location, { folder: folder.path, fleet }),
      (thrown: Error) => failsWith('start-refused', message)(thrown) && !thrown.message.includes('hidden'),
    );
});

test('the copies on the disk may be lost or changed at any time', async () => {
  const place = join(folder.path, 'lost');
  await using shelf = await open('copies', { folder: place });
  const files = filesOf('a/b/v1', { 'a.js': 'a', large: 'y'.repeat(2 ** 20 + 1) });
  await put(shelf, 'a/b/v1', files);
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), files);
  const copies = async (): Promise<string[]> =>
    (await readdir(place, { recursive: true, withFileTypes: true }))
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name));
  assert.equal((await copies()).length, 5, 'three files, the list of them, and who the node is');
  for (const copy of await copies()) await writeFile(copy, 'spoilt');
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), files);
  await rm(place, { recursive: true });
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), files);
  assert.deepEqual(shelf.damage(), []);
});

test('copies are bounded', async () => {
  const place = join(folder.path, 'bounded');
  await using shelf = await open('bounded', { folder: place, cacheLimit: 30_000 });
  for (let number = 0; number < 8; number++)
    await put(shelf, `a/b/v${String(number)}`, filesOf(`a/b/v${String(number)}`, { x: String(number).repeat(10_000) }));
  const kept = await readdir(join(place, 'files'), { recursive: true, withFileTypes: true });
  const large = kept.filter((each) => each.isFile()).length;
  assert.ok(large < 8, String(large));
  assert.equal((await contentOn(shelf, 'a/b/v0'))['x'], '0'.repeat(10_000));
});

test('files that nothing refers to are given back later, and no others', async () => {
  await using shelf = await open('collected', { keepRemoved: { count: 0, age: 0 } });
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { shared: 's', own: 'o' }));
  await put(shelf, 'a/b/v2', filesOf('a/b/v2', { shared: 's' }));
  await shelf.remove(koId('a/b/v1'));
  const objects = async (): Promise<unknown> =>
    (await shared.run('SELECT count(*)::int AS n FROM collected.object'))[0]?.['n'];
  await shelf.discardRemoved();
  assert.equal(await objects(), 4, 'a node may still read them');
  await shared.run('UPDATE collected.object SET unused = unused - 7200000000');
  await shelf.discardRemoved();
  assert.equal(await objects(), 2);
  assert.deepEqual(await contentOn(shelf, 'a/b/v2'), filesOf('a/b/v2', { shared: 's' }));
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { shared: 's', own: 'o' }));
  assert.deepEqual(await contentOn(shelf, 'a/b/v1'), filesOf('a/b/v1', { shared: 's', own: 'o' }));
});

test('a file that is damaged in the database is told, and an import heals it', async () => {
  await using shelf = await open('damaged', { keepRemoved: { count: 3, age: 86_400_000 } });
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { 'a.js': 'good' }));
  await shared.run(`UPDATE damaged.object_piece SET bytes = 'evil' WHERE bytes = 'good'`);
  await using other = await open('damaged');
  await assert.rejects(
    contentOn(other, 'a/b/v1'),
    failsWith('package-damaged', /The file a\.js of a\/b\/v1 is not what was stored/),
  );
  assert.deepEqual(other.damage(), [
    { where: 'a/b/v1', cause: 'its file a.js is not what was stored; import it again' },
  ]);
  await shelf.remove(koId('a/b/v1'));
  await assert.rejects(
    shelf.restore(koId('a/b/v1')),
    failsWith('package-damaged', /its file a\.js is not what was stored; nothing was changed/),
  );
  await put(shelf, 'a/b/v1', filesOf('a/b/v1', { 'a.js': 'good' }));
  await other.rescan();
  assert.deepEqual(other.damage(), []);
  assert.equal((await contentOn(other, 'a/b/v1'))['a.js'], 'good');
});

test('a database that lost its last changes with a server is read anew', async () => {
  await using proxy = await tcpProxy(() => shared.port);
  await using shelf = await open('lost', {}, proxy.port);
  const kept = await put(shelf, 'a/b/v1');
  await put(shelf, 'a/b/v2');
  await put(shelf, 'a/b/v3');
  proxy.isClosed = true;
  proxy.cutAll();
  await until('it is noticed', () => shelf.condition().problem !== undefined);
  await shared.run(
    `DELETE FROM lost.ko WHERE id IN ('a/b/v2', 'a/b/v3'); UPDATE lost.state SET revision = 1, marks = (marks::jsonb - -1 - -1)::text`,
  );
  await using far = await open('lost');
  const other = await put(far, 'a/b/v4');
  await put(far, 'a/b/v5').then(() => far.remove(koId('a/b/v5')));
  proxy.isClosed = false;
  await until('it is back', () => shelf.condition().problem === undefined);
  assert.deepEqual(await shelf.list(), [kept, other]);
});
