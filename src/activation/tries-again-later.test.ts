import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { javascriptKo } from '../../test/acceptance/support/ko.ts';
import { endpointsOf, ManualEngine } from '../../test/support/in-memory.ts';
import type { Endpoint } from './endpoint.ts';
import { LaterAttempts } from './failed-endpoints.ts';

const AWAY = 'the package index cannot be reached';

/** Endpoints of several KOs that could not be activated, and who tries them again. */
async function setUp(t: TestContext, names: readonly string[], mayPass = true) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const engine = new ManualEngine({ name: 'python', builtIn: false });
  const tried: string[] = [];
  // In the middle of what the pauses may be.
  const later = new LaterAttempts(
    ({ ko, status }) => tried.push(`${ko.id.name} ${status}`),
    () => 0.5,
  );
  t.after(() => later[Symbol.dispose]());
  const endpoints: Endpoint[] = [];
  for (const name of names) endpoints.push(...(await endpointsOf(javascriptKo('', { naan: 'a', name }), engine)));
  for (const each of endpoints) {
    const decided = each.activate();
    engine.fail(each.id, AWAY, mayPass);
    await decided;
    later.add(each);
  }
  engine.begun.length = 0;
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await turn();
  };
  const after = async (milliseconds: number): Promise<void> => {
    t.mock.timers.tick(milliseconds);
    await settle();
  };
  return { engine, later, endpoints, tried, settle, after };
}

test('what failed for a reason that may pass is tried again with growing pauses, in its place, until it is active', async (t) => {
  const { engine, later, endpoints, tried, after, settle } = await setUp(t, ['one']);
  const [one] = endpoints;
  assert.ok(one !== undefined);
  for (const seconds of [10, 20, 40, 80, 160, 320, 600, 600]) {
    assert.equal(one.triedAgainAt, Date.now() + seconds * 1000);
    await after(seconds * 1000 - 1);
    assert.deepEqual(engine.begun, [], `not before ${seconds} s`);
    await after(1);
    assert.deepEqual(engine.begun, [one.id]);
    assert.equal(one.status, 'FAILED_TO_ACTIVATE', 'until it is active, callers hear why it is not');
    engine.begun.length = 0;
    engine.fail(one.id, AWAY, true);
    await settle();
  }
  await after(600_000);
  engine.succeed(one.id);
  await settle();
  assert.deepEqual([one.status, one.detail, one.mayPass, one.triedAgainAt], ['ACTIVATED', undefined, false, undefined]);
  assert.equal(tried.at(-1), 'one ACTIVATED');
  assert.deepEqual(later.endpoints, []);
  engine.begun.length = 0;
  await after(3_600_000);
  assert.deepEqual(engine.begun, []);
});

test('what failed for its own content is not tried again, nor is what was replaced', async (t) => {
  const own = await setUp(t, ['one'], false);
  await own.after(3_600_000);
  assert.deepEqual([own.engine.begun, own.endpoints[0]?.triedAgainAt], [[], undefined]);
  t.mock.timers.reset();
  const { engine, later, endpoints, after } = await setUp(t, ['one']);
  for (const each of endpoints) {
    later.remove(each);
    each.dispose();
  }
  await after(3_600_000);
  assert.deepEqual([engine.begun, later.endpoints], [[], []]);
});

test('two knowledge objects are tried at a time, and once one is active the others follow soon', async (t) => {
  const { engine, endpoints, after, settle } = await setUp(t, ['one', 'two', 'three']);
  for (const pause of [10_000, 20_000, 40_000]) {
    await after(pause);
    assert.equal(engine.begun.length, 2);
    for (let done = 0; done < 3; done++) {
      engine.fail(engine.begun[done] ?? '', AWAY, true);
      await settle();
    }
    engine.begun.length = 0;
  }
  await after(80_000);
  const [first = '', second = ''] = engine.begun;
  engine.fail(second, AWAY, true);
  await settle();
  const third = engine.begun[2] ?? '';
  engine.fail(third, AWAY, true);
  await settle();
  engine.begun.length = 0;
  engine.succeed(first);
  await settle();
  await after(10_000);
  assert.deepEqual(engine.begun.toSorted(), [second, third].toSorted());
  for (const each of [second, third]) engine.succeed(each);
  await settle();
  assert.deepEqual(
    endpoints.map(({ status }) => status),
    ['ACTIVATED', 'ACTIVATED', 'ACTIVATED'],
  );
});
