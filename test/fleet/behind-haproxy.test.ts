/** Three nodes behind HAProxy, with the file of the folder deploy, are one service for its clients. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { upload } from '../acceptance/support/client.ts';
import { clientOf, pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { Random } from '../support/random.ts';
import { inRound } from '../support/round.ts';
import { History } from '../load/support/history.ts';
import { ActiveHistory } from './support/active-history.ts';
import { startHaproxy } from './support/balancers.ts';
import { theFleet } from './support/the-fleet.ts';
import { KeptClient, SteadyCalls } from './support/load.ts';

const fleet = await theFleet();
const balancer = await startHaproxy(fleet.nodes.map(({ url }) => url));
after(() => balancer[Symbol.asyncDispose]());
/** So many that change KOs, and as many that call them. */
const CLIENTS = inRound(4, 20);
const naan = uniqueNaan();
const service = clientOf(balancer.url);
const numbered = (name: string, number: number): Ko =>
  javascriptKo(`function run() { return ${number}; }`, { naan, name, metadata: { title: String(number) } });

/** The nodes that did not see a change within the time for which it waits for them, as the service said itself. */
const wereBehind = (): boolean =>
  fleet.nodes.some(({ log }) => log.some((line) => /do not have it yet|nodes-behind/.test(JSON.stringify(line))));

/** A machine so slow that nodes were behind, as the log names them, may show them what was there before. */
function assertNone(problems: readonly string[], what: string): void {
  if (problems.length > 0 && !wereBehind()) assert.fail(`${what}: ${problems.join('\n')}`);
}

test('clients that change the same KOs and others that call them see what was acknowledged, from any node', async (t) => {
  const seed = Number(process.env['KGRID_TEST_SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const names = ['ko0', 'ko1', 'ko2'];
  const [shelves, active] = [names.map(() => new History()), names.map(() => new ActiveHistory())];
  let number = 0;
  for (const [i, name] of names.entries()) {
    const began = performance.now();
    active[i]?.importing(++number, began);
    await service.serve(numbered(name, number));
    active[i]?.imported(number);
    shelves[i]?.changed(number, began);
  }
  const until = performance.now() + inRound(400, 60_000);
  const asLongAsItTakes = async (i: number, work: (random: Random, at: number) => Promise<void>): Promise<void> => {
    const random = new Random(seed + i);
    while (performance.now() < until) await work(random, random.below(names.length));
  };
  const change = async (random: Random, at: number): Promise<void> => {
    const [shelf, runs, name] = [shelves[at], active[at], names[at] ?? ''];
    const read = async (): Promise<void> => {
      const began = performance.now();
      const answer = await service.get(`/kos/${numbered(name, 0).id}`);
      assert.equal(answer.status, 200, answer.text);
      shelf?.read(Number(answer.object['title']), began);
    };
    const began = performance.now();
    const turn = random.below(10);
    if (turn < 4) {
      const next = ++number;
      runs?.importing(next, began);
      const answer = await service.send('POST', '/kos', upload(await zipOf(numbered(name, next).files)));
      assert.equal(answer.status, 200, answer.text);
      runs?.imported(next);
      shelf?.changed(next, began);
      // At once, from all of them.
      await Promise.all([read(), read(), read()]);
    } else if (turn < 7) {
      const answer = await service.get(`/actuator/activation/reload/${numbered(name, 0).id}`);
      assert.equal(answer.status, 303, answer.text);
      runs?.reloaded(began);
    } else await read();
  };
  const kept = Array.from({ length: CLIENTS }, () => new KeptClient(balancer.url));
  const call = async (client: KeptClient, at: number): Promise<void> => {
    const began = performance.now();
    const answer = await client.post(pathOf(numbered(names[at] ?? '', 0)), {});
    assert.equal(answer.status, 200, answer.text);
    const { result, info } = JSON.parse(answer.text) as { result: number; info: { ko: { title: string } } };
    assert.equal(String(result), info.ko.title, 'code and metadata are of one version');
    active[at]?.called(result, began);
    await wait(inRound(100, 5));
  };
  await Promise.all([
    ...Array.from({ length: CLIENTS }, (_, i) => asLongAsItTakes(i, change)),
    ...kept.map((client, i) => asLongAsItTakes(100 + i, (_, at) => call(client, at))),
  ]);
  for (const client of kept) client[Symbol.dispose]();
  for (const [i, name] of names.entries()) {
    const seen = await Promise.all(
      fleet.nodes.map(async (node) => (await node.get(`/kos/${numbered(name, 0).id}`)).object['title']),
    );
    assert.equal(new Set(seen).size, 1, `all nodes have the same ${name}`);
    shelves[i]?.read(Number(seen[0]), performance.now());
    assertNone(shelves[i]?.problems() ?? [], `the shelf of ${name}`);
    assertNone(active[i]?.problems() ?? [], `calls of ${name}`);
  }
  const calls = active.reduce((sum, each) => sum + each.calls, 0);
  t.diagnostic(`${number} imports, ${calls} calls; nodes were ${wereBehind() ? '' : 'never '}behind`);
});

test('a node that is not ready gets no calls', async () => {
  const ko = numbered('ready', 5);
  await service.serve(ko);
  const { hostname, port } = new URL(fleet.node(2).url);
  await fleet.node(2).stop();
  {
    // In its place is one that waits for its database.
    await using folder = await temporaryFolder();
    await using waiting = await startService({
      shelf: 'postgres://kgrid@127.0.0.1:1/none',
      early: true,
      args: ['--host', hostname, '--port', port, '--state', folder.path],
    });
    assert.equal((await waiting.get('/actuator/health/readiness')).status, 503);
    const calls = new SteadyCalls(balancer.url, pathOf(ko), 5, { clients: 3, pause: inRound(60, 20) });
    // In which the balancer looks at it more than once.
    await wait(1500);
    assert.deepEqual(await calls.end(), []);
  }
  await fleet.restart(2);
});

test('an update of one node after the other fails not one call', async (t) => {
  const ko = numbered('updated', 7);
  await service.serve(ko);
  // The third was stopped and started again above.
  const updated = inRound([0, 1], [0, 1, 2]);
  for (let round = 0; round < inRound(1, 5); round++) {
    const calls = new SteadyCalls(balancer.url, pathOf(ko), 7, { clients: inRound(4, 10), pause: inRound(100, 5) });
    for (const i of updated) {
      const { code } = await fleet.node(i).stop();
      assert.equal(code, 0);
      await fleet.restart(i);
    }
    const failures = await calls.end();
    assert.deepEqual(failures, []);
    t.diagnostic(`${calls.count} calls`);
  }
});
