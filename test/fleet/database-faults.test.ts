/**
 * What befalls the database of a fleet: it is stopped, hangs, moves, loses connections, is read-only, full or slow. Calls
 * and reads go on, changes are refused or made, never half, and all heals by itself.
 */
import assert from 'node:assert/strict';
import { chownSync, statSync } from 'node:fs';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { resourceKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import { servePlaces } from '../acceptance/support/places.ts';
import { temporaryFolder } from '../acceptance/support/service.ts';
import { Disk } from '../crash/disk.ts';
import { startServer } from '../support/postgres/server.ts';
import { tcpProxy } from '../support/postgres/tcp-proxy.ts';
import { Random } from '../support/random.ts';
import { inRound } from '../support/round.ts';
import { ChangingClient } from './support/changing-client.ts';
import { startFleet } from './support/fleet.ts';
import { freePort } from './support/helper-process.ts';
import { SteadyCalls } from './support/load.ts';
import { assertHeals, assertRefusesChanges, assertServes, componentsOf, saying, said, until } from './support/whole.ts';

await using all = new AsyncDisposableStack();
const server = all.use(await startServer());
await server.run('CREATE DATABASE kgrid TEMPLATE template0');
const firstPort = server.port;
const secondPort = await freePort();
const proxy = all.use(await tcpProxy(() => firstPort));
const url = `postgres://kgrid@127.0.0.1:${proxy.port},127.0.0.1:${secondPort}/kgrid?connect_timeout=3&sslmode=disable`;
const fleet = all.use(await startFleet(3, { url }));
const owned = all.move();
after(() => owned.disposeAsync());

/** Of a slow database, for each statement. */
const SLOW_MS = 2000;
const naan = uniqueNaan();
const steady = saying(naan, 'steady', 'as ever');
await fleet.node(0).serve(steady);
const run = (sql: string): Promise<readonly Record<string, unknown>[]> => server.run(sql, 'kgrid');
const everywhere = async (work: (node: (typeof fleet.nodes)[number]) => Promise<void>): Promise<void> => {
  await Promise.all(fleet.nodes.map(work));
};

test('without the database calls and reads go on and changes are refused, until it is back', async () => {
  await server.stop();
  await everywhere((node) => assertServes(node, steady, 'as ever'));
  await everywhere((node) => assertRefusesChanges(node, steady, 503, /database of the shelf/));
  await everywhere(async (node) => {
    const { shelf, fleet } = await componentsOf(node);
    assert.equal(shelf?.status, 'DOWN', JSON.stringify(shelf));
    assert.equal(fleet?.status, 'DOWN', JSON.stringify(fleet));
    assert.equal((await node.get('/actuator/fleet')).status, 503);
  });
  // A node that starts meanwhile waits, and is not ready.
  await fleet.node(2).stop();
  const late = await fleet.restart(2, { early: true });
  assert.equal((await late.get('/actuator/health/readiness')).status, 503);
  await server.start();
  await late.ready();
  await everywhere((node) => assertServes(node, steady, 'as ever'));
  await assertHeals(fleet.nodes, naan, 'after a stop');
});

test('a node that starts with manifests while the database goes away ends nowhere, and has them when it is back', async () => {
  const ko = saying(naan, 'listed', 'by a manifest');
  const zip = await zipOf(ko.files);
  const asked = Promise.withResolvers<void>();
  const isAway = Promise.withResolvers<void>();
  await using library = await servePlaces({
    '/manifest.json': Buffer.from('["ko.zip"]'),
    '/ko.zip': (_, response) => {
      asked.resolve();
      void isAway.promise.then(() => response.end(zip));
    },
  });
  const node = await fleet.add({
    early: true,
    args: ['--manifest', `${library.url}/manifest.json`, '--manifest-required'],
  });
  await asked.promise;
  await server.stop();
  isAway.resolve();
  await node.logged(({ msg }) => /imported again: the database/.test(String(msg)));
  assert.equal((await node.get('/actuator/health/readiness')).status, 503);
  await server.start();
  await node.ready();
  assert.deepEqual(
    await said(fleet.nodes, ko),
    fleet.nodes.map(() => 'by a manifest'),
  );
  await node.stop();
  fleet.nodes.pop();
});

test('a node whose disk is empty, and that loses the database while it activates, serves the rest once it is back', async () => {
  const kos = ['first', 'second', 'third', 'fourth'].map((name) => saying(naan, name, name));
  await fleet.node(0).serve(...kos);
  const isAmidst = Promise.withResolvers<void>();
  let asked = 0;
  proxy.onRequest = (bytes) => {
    if (!bytes.includes('SELECT files FROM') || ++asked !== 3) return 'pass';
    proxy.isClosed = true;
    isAmidst.resolve();
    return 'cut';
  };
  const late = await fleet.add({ early: true });
  await isAmidst.promise;
  proxy.cutAll();
  assert.equal((await late.get('/actuator/health/readiness')).status, 503);
  const meanwhile = await Promise.all(kos.map((ko) => late.post(pathOf(ko), {})));
  for (const { status, text, headers } of meanwhile)
    assert.ok(status === 200 || (status === 503 && headers['retry-after'] !== undefined), `${status}: ${text}`);
  assert.ok(meanwhile.some(({ status }) => status === 503));
  await everywhere((node) => (node === late ? Promise.resolve() : assertServes(node, steady, 'as ever')));
  proxy.onRequest = () => 'pass';
  proxy.isClosed = false;
  await late.ready();
  for (const ko of kos) await until('it serves all', async () => (await said([late], ko))[0] === ko.name);
  await late.stop();
  fleet.nodes.pop();
});

test('a database that hangs is one that is away', async () => {
  server.pause();
  await everywhere((node) => assertServes(node, steady, 'as ever'));
  await everywhere((node) => assertRefusesChanges(node, steady, 503, /database of the shelf/));
  server.resume();
  await assertHeals(fleet.nodes, naan, 'after a hang');
});

test('connections that are ended one by one cost no change and no call', async (t) => {
  const random = new Random(7);
  const clients = ['one', 'two', 'three', 'four'].map((name, i) => new ChangingClient(naan, name, new Random(i)));
  let left = inRound(10, 200);
  let isOver = false;
  const calls = new SteadyCalls(fleet.node(0).url, pathOf(steady), 'as ever', { clients: 2, pause: 20 });
  const changing = Promise.all(
    clients.map((each) =>
      each.run(
        () => fleet.node(random.below(3)),
        () => isOver,
        () => void (--left <= 0 && (isOver = true)),
        [503],
      ),
    ),
  ).finally(() => (isOver = true));
  let ended = 0;
  while (!isOver) {
    const [connection] = await run(
      `SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'kgrid %' AND state IS NOT NULL
        ORDER BY random() LIMIT 1`,
    );
    if (connection !== undefined) await run(`SELECT pg_terminate_backend(${String(connection['pid'])})`);
    ended++;
    await wait(100);
  }
  await changing;
  assert.deepEqual(await calls.end(), []);
  await assertHeals(fleet.nodes, naan, 'after ended connections');
  for (const each of clients) await each.check(fleet.nodes);
  t.diagnostic(`${ended} connections were ended during ${clients.reduce((sum, { total }) => sum + total, 0)} changes`);
});

test('a database that can only be read refuses changes, until it can be written', async () => {
  await run('ALTER SYSTEM SET default_transaction_read_only = on');
  await run('SELECT pg_reload_conf()');
  await until(
    'it is read-only',
    async () => (await run('SHOW transaction_read_only'))[0]?.['transaction_read_only'] === 'on',
  );
  try {
    await everywhere((node) => assertServes(node, steady, 'as ever'));
    await everywhere((node) => assertRefusesChanges(node, steady, 503, /can only be read/));
  } finally {
    await run('ALTER SYSTEM RESET default_transaction_read_only');
    await run('SELECT pg_reload_conf()');
  }
  await assertHeals(fleet.nodes, naan, 'after a time to read');
});

test('a database without space refuses imports with 507, and takes them once it has some', async () => {
  await using folder = await temporaryFolder();
  using disk = new Disk(folder.path);
  const large = resourceKo({ naan, name: 'large', resources: { 'large.bin': Buffer.alloc(2 ** 20, 'x') } });
  const zip = await zipOf(large.files);
  if (disk.own) {
    const { uid, gid } = statSync(server.folder);
    chownSync(folder.path, uid, gid);
    await run(`CREATE TABLESPACE small LOCATION '${folder.path}'`);
    await run('ALTER TABLE kgrid.object_piece SET TABLESPACE small');
    disk.fill(0);
  } else {
    await run(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`);
    await run('CREATE TRIGGER full_disk BEFORE INSERT ON kgrid.object_piece EXECUTE FUNCTION full_disk()');
  }
  await everywhere(async (node) => {
    const answer = await node.importZip(zip);
    assert.equal(answer.status, 507, answer.text);
    assert.match(answer.text, /no space left/);
    assert.equal((await node.get(`/kos/${large.id}`)).status, 404);
    await assertServes(node, steady, 'as ever');
  });
  if (disk.own) {
    disk.free(0);
    await run('ALTER TABLE kgrid.object_piece SET TABLESPACE pg_default');
    await run('DROP TABLESPACE small');
  } else await run('DROP FUNCTION full_disk() CASCADE');
  await fleet.node(1).add(large);
  await assertHeals(fleet.nodes, naan, 'after a full disk');
});

test('a slow database slows changes down, and calls not at all', async (t) => {
  // To the server and back: each statement takes it.
  proxy.delay = SLOW_MS;
  try {
    const ko = saying(naan, 'slowly', 'there');
    const began = performance.now();
    const answer = await fleet.node(0).importZip(await zipOf(ko.files));
    t.diagnostic(`an import took ${((performance.now() - began) / 1000).toFixed(1)} s: ${answer.status}`);
    assert.ok([200, 503].includes(answer.status), answer.text);
    const called = performance.now();
    await everywhere(async (node) => {
      for (let i = 0; i < 10; i++) assert.deepEqual(await said([node], steady), ['as ever']);
    });
    assert.ok(performance.now() - called < SLOW_MS * 10, 'no call waits for the database');
    // Others may be behind, and are named in the log; what was refused is nowhere. Nobody is further behind than the
    // statements of a look, and of a connection where it has lost its own.
    const changed = performance.now();
    if (answer.status === 200)
      await everywhere((node) => until('it is there', async () => (await node.get(`/kos/${ko.id}`)).status === 200));
    t.diagnostic(`the others had it ${((performance.now() - changed) / 1000).toFixed(1)} s after that`);
  } finally {
    proxy.delay = 0;
  }
  await assertHeals(fleet.nodes, naan, 'after slow times');
});

test('a database that goes on under the next host of the location is found there', async () => {
  await server.stop();
  await everywhere((node) => assertServes(node, steady, 'as ever'));
  await server.start(secondPort);
  await assertHeals(fleet.nodes, naan, 'on another port');
});
