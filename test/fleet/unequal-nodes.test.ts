/** Nodes behind a pooler, nodes whose clocks are an hour off, and a node that hangs are one with the others. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { installed } from '../support/debian-program.ts';
import { testDatabase } from '../support/postgres/shared.ts';
import { inRound } from '../support/round.ts';
import type { Start } from '../acceptance/support/service.ts';
import { startFleet } from './support/fleet.ts';
import { startPgbouncer } from './support/pgbouncer.ts';
import { assertServes, said, saying, until } from './support/whole.ts';

const faketime = (): string | undefined => globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0];

await using all = new AsyncDisposableStack();
const database = all.use(await testDatabase());
const pooler = all.use(await startPgbouncer(database.port));
const pooled = `postgres://kgrid@127.0.0.1:${pooler.port}/${database.name}`;
const preload = installed(faketime, 'libfaketime');
/** The first has the time of the test. */
const offsets = ['', '-3600s', '+3600s'];
const offBy = (offset: string): Start =>
  offset === '' ? {} : { env: { LD_PRELOAD: preload, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' } };
const fleet = all.use(
  await startFleet(3, {
    url: (i) => (i === 1 ? pooled : database.url),
    each: (i) => offBy(offsets[i] ?? ''),
  }),
);
const owned = all.move();
after(() => owned.disposeAsync());
const [plain, behindPooler, inTheFuture] = [fleet.node(0), fleet.node(1), fleet.node(2)];
const naan = uniqueNaan();
const steady = saying(naan, 'steady', 'as ever');
await plain.serve(steady);

/** Changes go through each node, and are seen from all when they are answered. */
async function assertOne(words: string): Promise<void> {
  for (const [i, node] of fleet.nodes.entries()) {
    const ko = saying(naan, `by${i}`, `${words} ${i}`);
    await node.add(ko);
    for (const each of fleet.nodes) assert.equal((await each.get(`/kos/${ko.id}`)).status, 200);
    await node.reload(ko);
    assert.deepEqual(
      await said(fleet.nodes, ko),
      fleet.nodes.map(() => `${words} ${i}`),
    );
  }
}

test('behind a pooler in transaction mode a node hears no notifications, says so, and is one with the others', async () => {
  const warning = await behindPooler.logged(({ msg }) => /notifications/.test(String(msg)));
  assert.match(String(warning['msg']), /pgbouncer/);
  assert.equal(
    plain.log.some(({ msg }) => /notifications/.test(String(msg))),
    false,
  );
  await assertOne('pooled');
});

test('a clock that is an hour off changes nothing of who lives and what is seen', async () => {
  for (const [i, node] of fleet.nodes.entries()) {
    const ahead = Date.parse(String((await node.get('/')).headers['date'])) - Date.now();
    const offset = Number.parseInt(offsets[i] ?? '', 10) || 0;
    assert.ok(Math.abs(ahead - offset * 1000) < 60_000, `its clock is ${ahead} ms ahead`);
  }
  await assertOne('an hour later');
  for (const node of fleet.nodes)
    await until('all live, for the node as for the others', async () => {
      const { nodes } = (await node.get('/actuator/fleet')).object as { nodes: { isLive: boolean; age: number }[] };
      return nodes.length === 3 && nodes.every(({ isLive, age }) => isLive && age < 5);
    });
});

test('a node that hangs is waited for a while and then left out, and catches up when it goes on', async (t) => {
  process.kill(plain.pid, 'SIGSTOP');
  const others = [behindPooler, inTheFuture];
  const began = performance.now();
  const [first, second] = [saying(naan, 'steady', 'first'), saying(naan, 'steady', 'second')];
  try {
    await behindPooler.serve(first);
    t.diagnostic(`the first change took ${((performance.now() - began) / 1000).toFixed(1)} s`);
    assert.deepEqual(await said(others, first), ['first', 'first']);
    await until('it counts as silent', async () => {
      const { nodes } = (await inTheFuture.get('/actuator/fleet')).object as { nodes: { isLive: boolean }[] };
      return nodes.filter(({ isLive }) => !isLive).length === 1;
    });
    const unhindered = performance.now();
    await inTheFuture.serve(second);
    t.diagnostic(`the second change took ${((performance.now() - unhindered) / 1000).toFixed(1)} s`);
    await wait(inRound(0, 60_000));
    for (const each of others) await assertServes(each, second, 'second');
  } finally {
    process.kill(plain.pid, 'SIGCONT');
  }
  await until('it has caught up', async () => (await said([plain], second))[0] === 'second');
  assert.equal(
    (await plain.get(`/kos/${second.id}`)).headers['etag'],
    (await inTheFuture.get(`/kos/${second.id}`)).headers['etag'],
  );
  await assertOne('again');
});
