/** Whatever is asked of one node is seen on all: "N are one". */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { jsonBody, upload } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { theFleet } from './support/the-fleet.ts';
import { until } from './support/whole.ts';

const fleet = await theFleet();
/** As they are now: other tests start them again. */
const three = (): readonly [OwnService, OwnService, OwnService] => [fleet.node(0), fleet.node(1), fleet.node(2)];
const naan = uniqueNaan();
const IDLE_MS = inRound(3000, 20_000);
const saying = (name: string, words: string): Ko =>
  javascriptKo(`function run() { return ${JSON.stringify(words)}; }`, { naan, name });
const said = async (ko: Ko): Promise<unknown[]> =>
  Promise.all(fleet.nodes.map(async (node) => (await node.post(pathOf(ko), {})).object['result']));

test('a change waits for a node that has not seen it, or says that this node is behind', async () => {
  const [a, b, c] = three();
  const [ko, other] = [saying('waited', 'for'), saying('reloaded', 'again')];
  await c.add(other);
  let goesOn = false;
  const isAwaited = async (node: OwnService, change: Promise<unknown>): Promise<boolean> => {
    await change;
    return goesOn || node.log.some(({ msg }) => /do not have it yet|not all nodes/.test(String(msg)));
  };
  process.kill(b.pid, 'SIGSTOP');
  try {
    const changes = [isAwaited(a, a.add(ko)), isAwaited(c, c.reload(other))];
    while (
      (await c.get(`/kos/${ko.id}`)).status !== 200 ||
      (await c.post(pathOf(other), {})).object['result'] !== 'again'
    )
      await wait(20);
    // A change that does not wait is answered about now; one that does, when the node goes on, or after 2 and 10 s.
    await Promise.race([Promise.all(changes), wait(500)]);
    goesOn = true;
    const { nodes } = (await c.get('/actuator/fleet')).object as { nodes: { address: string; isLive: boolean }[] };
    process.kill(b.pid, 'SIGCONT');
    const wereAwaited = await Promise.all(changes);
    // A machine so slow that it counted as dead tells nothing.
    if (nodes.find(({ address }) => address === b.url)?.isLive === true) assert.deepEqual(wereAwaited, [true, true]);
  } finally {
    process.kill(b.pid, 'SIGCONT');
  }
});

test('If-Match holds over nodes, and a change is seen by the next condition anywhere', async () => {
  const [a, b, c] = three();
  const ko = saying('conditional', 'x');
  await a.add(ko);
  const etag = String((await b.get(`/kos/${ko.id}`)).headers['etag']);
  const put = (node: OwnService, title: string) =>
    node.send('PUT', `/kos/${ko.id}`, {
      ...jsonBody({ ...ko.metadata, title }),
      headers: { 'content-type': 'application/json', 'if-match': etag },
    });
  const answers = await Promise.all([put(a, 'by a'), put(b, 'by b'), put(c, 'by c')]);
  const codes = answers.map(({ status }) => status).sort();
  assert.deepEqual(codes, [200, 412, 412]);
  assert.equal((await put(b, 'late')).status, 412);
  const titles = await Promise.all(fleet.nodes.map(async (node) => (await node.get(`/kos/${ko.id}`)).object['title']));
  assert.equal(new Set(titles).size, 1);
});

test('a node that comes to a running fleet activates what is active, not what lies on the shelf', async () => {
  const [a, , c] = three();
  const ko = saying('kept', 'active');
  await a.serve(ko);
  await a.add(saying('kept', 'on the shelf'));
  await c.get('/actuator/activation/refresh/javascript');
  // With the host name, port and state folder of another, as machines that are copies have it.
  const late = await fleet.add({ args: ['--port', new URL(a.url).port] }, 0);
  await a.logged(({ event }) => event === 'node-id');
  for (const node of fleet.nodes)
    await until('each has an id and a name of its own', async () => {
      const known = (await node.get('/actuator/fleet')).object['nodes'] as Record<string, unknown>[];
      const own = known.find(({ isThis }) => isThis === true);
      const facts = ['id', 'name', 'address'].map((fact) => new Set(known.map((each) => each[fact])).size);
      return own?.['address'] === node.url && String(facts) === '4,4,4';
    });
  const times = await Promise.all(
    fleet.nodes.map(async (node) => (await node.endpoints(naan)).map(({ activated }) => activated)),
  );
  assert.deepEqual(times, Array(4).fill(times[0]), 'an endpoint was activated at one time on all nodes');
  assert.ok(times[0]?.every((time) => typeof time === 'string'));
  assert.equal((await late.post(pathOf(ko), {})).object['result'], 'active');
  await late.stop();
  const again = await fleet.restart(3);
  assert.equal((await again.post(pathOf(ko), {})).object['result'], 'active');
  assert.equal((await again.get(`/actuator/activation/reload/${ko.id}`)).status, 303);
  assert.deepEqual(await said(ko), Array(4).fill('on the shelf'));
  await again.stop();
  fleet.nodes.pop();
});

test('/actuator/fleet tells each node and how far it is, and health that all is well', async () => {
  const [a, b] = three();
  const { object } = await b.get('/actuator/fleet');
  const nodes = object['nodes'] as Record<string, unknown>[];
  assert.equal(nodes.length, 3);
  assert.deepEqual(nodes.map(({ address }) => address).sort(), fleet.nodes.map(({ url }) => url).sort());
  assert.deepEqual(
    nodes.filter(({ isThis }) => isThis === true).map(({ address }) => address),
    [b.url],
  );
  for (const node of nodes) {
    assert.equal(node['isLive'], true);
    assert.deepEqual(node['behind'], { revisions: 0, generations: 0 });
    assert.deepEqual(node['failures'], []);
  }
  const components = (await a.get('/actuator/health')).object['components'] as Record<
    string,
    { status: string; details: Record<string, unknown> }
  >;
  assert.equal(components['fleet']?.status, 'UP', JSON.stringify(components['fleet']));
  assert.equal(components['fleet'].details['nodes'], 3);
});

test('an idle node asks the database less than five times a second', async () => {
  const { name } = fleet.database;
  const look = async (): Promise<{ count: number; at: number }> => {
    const [row] = await fleet.database.run(
      `SELECT xact_commit + xact_rollback AS count, extract(epoch FROM clock_timestamp()) AS at
        FROM pg_stat_database WHERE datname = '${name}'`,
    );
    return { count: Number(row?.['count']), at: Number(row?.['at']) };
  };
  const found: number[] = [];
  // What a connection has counted comes once it was idle for some seconds.
  for (let turn = 0; turn < 5 && !found.some((each) => each < 5); turn++) {
    const before = await look();
    await wait(IDLE_MS);
    const after = await look();
    found.push((after.count - before.count) / (after.at - before.at) / fleet.nodes.length);
  }
  const least = Math.min(...found);
  assert.ok(least > 0.5 && least < 5, `${found.join()} a second`);
});

test('many clients that change the same KO on all nodes leave all nodes alike', async () => {
  const zips = await Promise.all([1, 2, 3, 4].map((i) => zipOf(saying('contended', `words ${i}`).files)));
  const ko = saying('contended', '');
  const answers = await Promise.all(
    Array.from({ length: 12 }, async (_, i) => {
      const node = fleet.node(i % 3);
      const answer = await node.send('POST', '/kos', upload(zips[i % 4] ?? Buffer.of()));
      return [answer.status, (await node.get(`/actuator/activation/reload/${ko.id}`)).status];
    }),
  );
  assert.deepEqual(new Set(answers.map(String)), new Set(['200,303']));
  const digests = await Promise.all(
    fleet.nodes.map(async (node) => (await node.get(`/kos/${ko.id}`)).headers['kgrid-package-digest']),
  );
  assert.equal(new Set(digests).size, 1);
  const active = await Promise.all(fleet.nodes.map((node) => node.post(pathOf(ko), {})));
  assert.equal(new Set(active.map(({ text }) => text)).size, 1, active.map(({ text }) => text).join());
});
