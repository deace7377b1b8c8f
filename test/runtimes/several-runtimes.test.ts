import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';
import { theHostsService } from './support/the-services.ts';

const naan = uniqueNaan();
const service = await theHostsService();

const koOf = (engine: string): Ko => runtimeKo({ naan, name: engine, engine, code: { 'src/index.js': '' } });

async function start(engine: string, name: string): Promise<RecordedNodeRuntime> {
  const runtime = await RecordedNodeRuntime.start(service, engine);
  after(() => runtime[Symbol.asyncDispose]());
  runtime.run = () => name;
  return runtime;
}

const call = async (engine: string): Promise<unknown> => {
  const answer = await service.post(pathOf(koOf(engine)), {});
  return answer.status === 200 ? answer.object['result'] : answer.status;
};
const calls = (engine: string, count: number): Promise<unknown[]> =>
  Promise.all(Array.from({ length: count }, () => call(engine)));
const count = (results: readonly unknown[], name: unknown): number => results.filter((each) => each === name).length;
const bothHold = (...runtimes: RecordedNodeRuntime[]): Promise<true> =>
  until('all hold the endpoint', () => (runtimes.every((each) => each.activations.length > 0) ? true : undefined));

test('calls are spread over the runtimes that hold the endpoint', async () => {
  const [one, two] = [await start('spread', 'one'), await start('spread', 'two')];
  await service.serve(koOf('spread'));
  await bothHold(one, two);
  await until('both are called', async () => (new Set(await calls('spread', 2)).size === 2 ? true : undefined));
  const results = await calls('spread', 20);
  assert.deepEqual([count(results, 'one'), count(results, 'two')], [10, 10]);
});

test('when one of several runtimes ends the others go on, and it is used again when it is back', async () => {
  const [one, two] = [await start('ending', 'one'), await start('ending', 'two')];
  await service.serve(koOf('ending'));
  await bothHold(one, two);
  await until('both are called', async () => (new Set(await calls('ending', 2)).size === 2 ? true : undefined));
  await one.kill();
  assert.deepEqual([...new Set(await calls('ending', 20))], ['two'], 'no call fails');
  const health = (await service.get('/actuator/health')).object['components'] as Record<string, JsonObject>;
  assert.deepEqual(health['endingEngine'], { status: 'UP', details: { engines: ['ending'], runtimes: 2, up: 1 } });

  await one.listen();
  assert.equal((await one.register(false)).object['status'], 'existing runtime');
  await until('it is called again', async () => (count(await calls('ending', 2), 'one') > 0 ? true : undefined));

  await two.kill();
  assert.deepEqual([...new Set(await calls('ending', 10))], ['one']);
  await one.kill();
  assert.deepEqual(await calls('ending', 3), [502, 502, 502]);
  // It is tried even though it is known to be down.
  await two.listen();
  await until('it answers', async () => (count(await calls('ending', 1), 'two') === 1 ? true : undefined));
});

test('one that falls silent keeps the calls that it has, and gets no more until it registers again', async () => {
  const [one, two] = [await start('stopping', 'one'), await start('stopping', 'two')];
  await service.serve(koOf('stopping'));
  await bothHold(one, two);
  await until('both are called', async () => (new Set(await calls('stopping', 2)).size === 2 ? true : undefined));
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  one.intercept = async () => {
    await goesOn;
    return false;
  };
  const begun = calls('stopping', 2);
  await until('nobody is sent to it', async () => {
    const { components } = (await service.get('/actuator/health')).object;
    const { details } = (components as Record<string, { details: JsonObject }>)['stoppingEngine'] ?? {};
    return details?.['up'] === 1 ? true : undefined;
  });
  assert.deepEqual([...new Set(await calls('stopping', 10))], ['two']);
  goOn();
  assert.deepEqual((await begun).sort(), ['one', 'two']);
  await one.register(false);
  await until('it is called again', async () => (count(await calls('stopping', 2), 'one') > 0 ? true : undefined));
  assert.equal(one.activations.length, 1, 'it was never lost');
});

test('a runtime that does not take the endpoint is not called, and nobody waits for one that is slow', async () => {
  const refusing = await start('choosy', 'refusing');
  refusing.intercept = ({ path }, response) => {
    if (path === '/endpoints') response.writeHead(500).end('{"description": "not mine"}');
    return path === '/endpoints';
  };
  const slow = await start('choosy', 'slow');
  const released = Promise.withResolvers<void>();
  slow.intercept = async ({ path }) => {
    if (path === '/endpoints') await released.promise;
    return false;
  };
  await start('choosy', 'willing');
  await service.serve(koOf('choosy'));
  assert.deepEqual([...new Set(await calls('choosy', 9))], ['willing']);
  released.resolve();
  await until('the slow one joins', async () => (count(await calls('choosy', 2), 'slow') > 0 ? true : undefined));
  assert.equal(count(await calls('choosy', 6), 'refusing'), 0);
});

test('when every runtime refuses the endpoint its detail has the words of each', async () => {
  for (const words of ['no space', 'no memory', 'no space']) {
    const runtime = await start('unwilling', words);
    runtime.intercept = ({ path }, response) => {
      if (path === '/endpoints') response.writeHead(500).end(JSON.stringify({ description: words }));
      return path === '/endpoints';
    };
  }
  await service.serve(koOf('unwilling'));
  const { status, detail } = (await service.get(`/endpoints/${koOf('unwilling').naan}/unwilling/1.0/run`)).object;
  assert.equal(status, 'FAILED_TO_ACTIVATE');
  const parts = String(detail).split('; ').sort();
  assert.deepEqual(parts, ['the unwilling runtime says: no memory', 'the unwilling runtime says: no space']);
});
