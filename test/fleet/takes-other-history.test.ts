/**
 * The database of a fleet gives way to one that went another way: a standby that lacked the last changes, or an old primary
 * that comes back. Nodes take it as the truth, say so until an operator confirms it, and what is asked of them is done.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import { testDatabase } from '../support/postgres/shared.ts';
import { tcpProxy } from '../support/postgres/tcp-proxy.ts';
import { startFleet } from './support/fleet.ts';
import { componentsOf, said, saying, until } from './support/whole.ts';

await using all = new AsyncDisposableStack();
const admin = all.use(await testDatabase());
const database = all.use(await testDatabase());
const [standby, old] = [`${database.name}_standby`, `${database.name}_old`];
all.defer(async () => {
  for (const each of [standby, old]) await admin.run(`DROP DATABASE IF EXISTS ${each} WITH (FORCE)`);
});
const proxy = all.use(await tcpProxy(() => database.port));
const url = `postgres://kgrid@127.0.0.1:${String(proxy.port)}/${database.name}?sslmode=disable`;
const fleet = all.use(await startFleet(2, { url }));
const owned = all.move();
after(() => owned.disposeAsync());
const [one, other] = [fleet.node(0), fleet.node(1)];
const naan = uniqueNaan();

/** Does something to databases while nobody is connected to them. */
async function whileAway(...statements: readonly string[]): Promise<void> {
  proxy.isClosed = true;
  proxy.cutAll();
  await until('all sessions have ended', async () => {
    const [row] = await admin.run(`SELECT count(*) AS n FROM pg_stat_activity WHERE datname = '${database.name}'`);
    return Number(row?.['n']) === 0;
  });
  for (const each of statements) await admin.run(each);
  proxy.isClosed = false;
}
const copyAs = (name: string): Promise<void> => whileAway(`CREATE DATABASE ${name} TEMPLATE ${database.name}`);
/** Another database is reached at the same address. @param keep the name of the one before. */
const promote = (name: string, keep: string): Promise<void> =>
  whileAway(`ALTER DATABASE ${database.name} RENAME TO ${keep}`, `ALTER DATABASE ${name} RENAME TO ${database.name}`);
const times = (node: typeof one): number => node.log.filter(({ event }) => event === 'other-history').length;
const untilTaken = (count: number): Promise<void> =>
  until('both nodes have taken it', () => Promise.resolve([one, other].every((each) => times(each) === count)));
const untilFleet = (status: string): Promise<void> =>
  until(`the fleet is ${status}`, async () => {
    const components = await Promise.all([one, other].map(componentsOf));
    return components.every(({ fleet: each }) => each?.status === status);
  });
const answers = (words: string): Promise<readonly unknown[]> => said([one, other], saying(naan, 'changed', words));

test('after a standby took over that lacked changes, what runs is what it says, and reloads do what they say', async () => {
  await one.serve(saying(naan, 'changed', 'first'), saying(naan, 'removed', 'still there'));
  await copyAs(standby);
  await until('changes are made again', async () => {
    const { status } = await one.importZip(await zipOf(saying(naan, 'changed', 'second').files));
    return status === 200;
  });
  await one.serve(saying(naan, 'changed', 'third'), saying(naan, 'lost', 'acknowledged'));
  assert.equal((await other.delete(`/kos/${saying(naan, 'removed', '').id}`)).status, 204);
  assert.equal((await other.get(`/actuator/activation/refresh/${saying(naan, 'removed', '').id}`)).status, 303);
  assert.deepEqual(await answers('third'), ['third', 'third']);

  await promote(standby, old);
  await untilTaken(1);
  await until('what ran then runs again', async () => {
    const [first, second] = await answers('first');
    return first === 'first' && second === 'first';
  });
  assert.deepEqual(await said([one, other], saying(naan, 'removed', '')), ['still there', 'still there']);
  for (const node of [one, other]) assert.equal((await node.post(pathOf(saying(naan, 'lost', '')), {})).status, 404);

  for (const words of ['fourth', 'fifth', 'sixth']) {
    await until(`${words} is imported`, async () => {
      return (await other.importZip(await zipOf(saying(naan, 'changed', words).files))).status === 200;
    });
    assert.equal((await one.get(`/actuator/activation/reload/${saying(naan, 'changed', '').id}`)).status, 303);
    assert.deepEqual(await answers(words), [words, words]);
  }
});

test('it is said until an operator confirms it, on every node', async () => {
  await untilFleet('DOWN');
  for (const node of [one, other]) {
    const { fleet: component } = await componentsOf(node);
    assert.match(String(component?.details?.['otherHistory']), /does not go on from revision/);
    assert.equal((await node.get('/actuator/health/readiness')).object['status'], 'UP');
    assert.match((await node.get('/actuator/prometheus')).text, /^kgrid_fleet_other_history 1$/m);
  }
  const { list } = await one.get('/actuator/audit?limit=100');
  assert.equal(list.filter(({ action }) => action === 'take other history').length, 1);
  assert.equal((await other.post('/actuator/fleet/confirm', {})).status, 204);
  await untilFleet('UP');
  assert.equal((await one.post('/actuator/fleet/confirm', {})).status, 404);
  await until('its metric says so', async () =>
    /^kgrid_fleet_other_history 0$/m.test((await one.get('/actuator/prometheus')).text),
  );
});

test('an old primary that comes back is taken as the truth likewise, also by a node that starts on it', async () => {
  await one.stop();
  await promote(old, standby);
  await until('the other node has taken it', () => Promise.resolve(times(other) === 2));
  const again = await fleet.restart(0);
  assert.equal(times(again), 1, 'it knew at its end where the database was');
  await until('what ran there runs again', async () => {
    const [first, second] = await said([again, other], saying(naan, 'changed', ''));
    return first === 'third' && second === 'third';
  });
  assert.deepEqual(await said([again, other], saying(naan, 'lost', '')), ['acknowledged', 'acknowledged']);
  for (const node of [again, other]) assert.equal((await componentsOf(node)).fleet?.status, 'DOWN');
});
