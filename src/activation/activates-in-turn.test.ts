import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ko } from '../../test/acceptance/support/ko.ts';
import { endpointsOf, ManualEngine } from '../../test/support/in-memory.ts';
import type { Endpoint } from './endpoint.ts';
import { ActivationQueue } from './make-endpoints.ts';

/** A queue with endpoints `/0`, `/1`, … added to it. */
async function queueOf(count: number, engine: ManualEngine) {
  const queue = new ActivationQueue();
  const many = ko({
    naan: 'a',
    name: 'b',
    endpoints: Array.from({ length: count }, (_, i) => ({
      path: `/${i}`,
      deployment: { artifact: 'x.js', engine: engine.name },
    })),
  });
  const endpoints = await endpointsOf(many, engine, (each) => queue.prioritize(each));
  for (const each of endpoints) queue.add(each);
  return { queue, endpoints };
}

const begun = (engine: ManualEngine): string[] => engine.begun.map((id) => id.split('/')[3] ?? '');
const statuses = (endpoints: readonly Endpoint[]): string[] => endpoints.map((each) => each.status);

test('two begin at once, the next as soon as one is decided, whatever the outcome', async () => {
  const engine = new ManualEngine();
  const { endpoints } = await queueOf(4, engine);
  assert.deepEqual(begun(engine), ['0', '1']);
  engine.fail('a/b/1.0/1', 'broken');
  await turn();
  assert.deepEqual(begun(engine), ['0', '1', '2']);
  for (const id of ['0', '2', '3']) {
    engine.succeed(`a/b/1.0/${id}`);
    await turn();
  }
  assert.deepEqual(begun(engine), ['0', '1', '2', '3']);
  assert.deepEqual(statuses(endpoints), ['ACTIVATED', 'FAILED_TO_ACTIVATE', 'ACTIVATED', 'ACTIVATED']);
  assert.equal(endpoints[1]?.detail, 'broken');
});

test('the one that a caller waits for comes at once, and only once', async () => {
  const engine = new ManualEngine();
  const { endpoints } = await queueOf(5, engine);
  const called = endpoints[4]?.executor();
  const again = endpoints[4]?.executor();
  assert.deepEqual(begun(engine), ['0', '1', '4']);
  engine.succeed('a/b/1.0/4');
  assert.equal(await called, await again);
  for (const id of ['0', '1']) engine.succeed(`a/b/1.0/${id}`);
  await turn();
  assert.deepEqual(begun(engine), ['0', '1', '4', '2', '3']);
});

test('slow ones do not hold up the others for long', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const engine = new ManualEngine();
  await queueOf(40, engine);
  assert.equal(begun(engine).length, 2);
  t.mock.timers.tick(700);
  assert.equal(begun(engine).length, 4);
  for (let i = 0; i < 20; i++) t.mock.timers.tick(700);
  assert.equal(begun(engine).length, 16, 'but so many at most');
});

test('what may take minutes begins at once and takes nobody’s place', async () => {
  const python = new ManualEngine({ name: 'python', builtIn: false });
  await queueOf(30, python);
  assert.equal(python.begun.length, 30);
});

test('what is replaced while it waits is never activated, and nobody waits for it any more', async () => {
  const engine = new ManualEngine();
  const { queue, endpoints } = await queueOf(4, engine);
  const [, , third, fourth] = endpoints;
  assert.ok(third && fourth);
  queue.remove(third);
  third.dispose();
  // Also where the queue was not told.
  fourth.dispose();
  await Promise.all([third.decided, fourth.decided]);
  for (const id of ['0', '1']) engine.succeed(`a/b/1.0/${id}`);
  await turn();
  await turn();
  assert.deepEqual(begun(engine), ['0', '1']);
  await assert.rejects(fourth.executor(), /it was replaced/);
});
