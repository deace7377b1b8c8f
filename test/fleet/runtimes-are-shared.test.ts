/** "Runtimes register with one node through the balancer and are known to all", and each endpoint is activated there once. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { RecordedNodeRuntime } from '../runtimes/support/recorded-node-runtime.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { until } from '../runtimes/support/until.ts';
import { startFleet } from './support/fleet.ts';

const fleet = await startFleet(2, { args: ['--runtime-expiry', '3s'] });
after(() => fleet[Symbol.asyncDispose]());
const [a, b] = [fleet.node(0), fleet.node(1)];
const naan = uniqueNaan();
const koOf = (engine: string, code = ''): Ko =>
  runtimeKo({ naan, name: engine, engine, code: { 'src/index.js': code } });

async function start(engine: string): Promise<RecordedNodeRuntime> {
  const runtime = await RecordedNodeRuntime.start(a, engine);
  after(() => runtime[Symbol.asyncDispose]());
  runtime.run = () => engine;
  return runtime;
}

const enginesOf = async (node: typeof a): Promise<unknown[]> =>
  (await node.get('/proxy/environments')).list.map(({ engine }) => engine);
const callOn = async (node: typeof a, ko: Ko): Promise<unknown> => {
  const answer = await node.post(pathOf(ko), {});
  return answer.status === 200 ? answer.object['result'] : answer.status;
};
const bothAnswer = (ko: Ko, result: unknown): Promise<true> =>
  until('both nodes answer', async () =>
    (await Promise.all([callOn(a, ko), callOn(b, ko)])).every((each) => each === result) ? true : undefined,
  );

test('a runtime that registered with one node is known to the other, and is called by both after one activation', async () => {
  const runtime = await start('shared');
  await until('the other knows it', async () => ((await enginesOf(b)).includes('shared') ? true : undefined));
  await a.serve(koOf('shared'));
  await bothAnswer(koOf('shared'), 'shared');
  assert.equal(runtime.activations.length, 1, JSON.stringify(runtime.activations));
});

test('a reload activates once more at the runtime, not once for each node', async () => {
  const runtime = await start('again');
  await b.serve(koOf('again'));
  await bothAnswer(koOf('again'), 'again');
  const before = runtime.activations.length;
  assert.equal((await a.get(`/actuator/activation/reload/${koOf('again').id}`)).status, 303);
  await bothAnswer(koOf('again'), 'again');
  assert.equal(runtime.activations.length, before + 1);
  assert.equal((await b.get('/actuator/activation/refresh/again')).status, 303);
  await bothAnswer(koOf('again'), 'again');
  assert.equal(runtime.activations.length, before + 2);
});

test('new code is what both nodes run, also where the runtime has it from the other', async () => {
  const runtime = await start('renewed');
  await a.serve(koOf('renewed', 'old'));
  await bothAnswer(koOf('renewed'), 'renewed');
  await b.serve(koOf('renewed', 'new'));
  await bothAnswer(koOf('renewed'), 'renewed');
  // Each from an address of its own, so that a node behind gives none of the other.
  assert.deepEqual([...runtime.artifacts.values()], ['old', 'new']);
  const checksums = runtime.activations.map(({ checksum }) => checksum);
  assert.equal(new Set(checksums).size, 2);
  assert.equal(checksums.length, 2);
});

test('a runtime that lost all and registers with the other node gets its endpoints again, and no endless renewal comes of it', async () => {
  const runtime = await start('lost');
  await a.serve(koOf('lost'));
  await bothAnswer(koOf('lost'), 'lost');
  const before = runtime.activations.length;
  const times = (): Promise<number[]> =>
    Promise.all(
      [a, b].map(async (node) => {
        const endpoint = (await node.endpoints(naan)).find((each) => String(each['@id']).includes('/lost/'));
        return Date.parse(String(endpoint?.['activated']));
      }),
    );
  const [first = NaN] = await times();
  runtime.forget();
  runtime.activator = b;
  await runtime.register(true);
  await bothAnswer(koOf('lost'), 'lost');
  await until('it was activated once more', () => (runtime.activations.length > before ? true : undefined));
  await until('both tell the time of that', async () => {
    const [one = NaN, other = NaN] = await times();
    return one > first && one === other ? true : undefined;
  });
  // Each node may have found out for itself that the endpoint was gone.
  const looks = (): Promise<unknown> => Promise.all([callOn(a, koOf('lost')), callOn(b, koOf('lost'))]);
  for (let same = 0, last = 0; same < 40; same++) {
    await looks();
    if (runtime.activations.length !== last) same = 0;
    last = runtime.activations.length;
    assert.ok(last <= before + 4, `${last}`);
    await wait(50);
  }
});

test('heartbeats at one node keep it known to both, and without any it is forgotten by both', async () => {
  const runtime = await start('silent');
  await until('the other knows it', async () => ((await enginesOf(b)).includes('silent') ? true : undefined));
  const beats = setInterval(() => void runtime.register(false), 300);
  // Longer than --runtime-expiry: only heartbeats keep it.
  runtime.intercept = (asked, response) => asked.path === '/info' && (response.destroy(), true);
  const began = performance.now();
  while (performance.now() - began < 4500) {
    assert.ok((await enginesOf(a)).includes('silent'));
    assert.ok((await enginesOf(b)).includes('silent'));
  }
  clearInterval(beats);
  await until('both have forgotten it', async () =>
    [...(await enginesOf(a)), ...(await enginesOf(b))].includes('silent') ? undefined : true,
  );
});

test('a node that comes later uses what is active at the runtimes', async () => {
  const runtime = await start('later');
  await a.serve(koOf('later'));
  await bothAnswer(koOf('later'), 'later');
  const before = runtime.activations.length;
  const late = await fleet.add({ args: [] });
  await until('it answers', async () => ((await callOn(late, koOf('later'))) === 'later' ? true : undefined));
  assert.equal(runtime.activations.length, before);
  await late.stop();
  fleet.nodes.pop();
  assert.equal(await callOn(a, koOf('later')), 'later');
});
