import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { javascriptKo, welcomeKo } from '../../test/acceptance/support/ko.ts';
import { decidedEndpointsOf, ManualEngine, MemoryPackage } from '../../test/support/in-memory.ts';
import type { KoName } from '../knowledge-object/id.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { Activator } from './activator.ts';
import { EndpointSet } from './endpoint-set.ts';

const CODE = 'function run() {}';

test('a set that was made from another has what one made anew would have', async () => {
  const engine = new ManualEngine();
  const of = (name: string, version: string) =>
    decidedEndpointsOf(javascriptKo(CODE, { naan: 'a', name, version, apiVersion: version }), engine);
  const parts = new Map<string, Awaited<ReturnType<typeof of>>>();
  let set = new EndpointSet([], []);
  // Puts, replaces and takes out, at the front, in the middle and at the end.
  for (let step = 0; step < 60; step++) {
    const name = `n${(step * 5) % 13}`;
    const endpoints = step % 4 === 3 ? [] : [...(await of(name, `v${step % 3}`)), ...(await of(name, 'v9'))];
    parts.set(name, endpoints);
    set = set.with([{ naan: 'a', name }], endpoints, []);
    const anew = new EndpointSet([...parts.values()].flat(), []);
    assert.deepEqual(
      set.endpoints.map(({ id }) => id),
      anew.endpoints.map(({ id }) => id),
    );
    for (const { id, address, ko } of anew.endpoints) {
      assert.equal(set.versioned(id), anew.versioned(id));
      assert.deepEqual(set.versions(address), anew.versions(address));
      assert.deepEqual(set.ofName(ko.id), anew.ofName(ko.id));
    }
    if (endpoints.length === 0) assert.equal(set.newest(`a/${name}/run`), undefined);
  }
});

test('a reload of one KO asks the shelf for that one alone, and leaves all others as they are', async (t) => {
  const kos = ['one', 'two', 'three'].map((name) => welcomeKo({ naan: 'a', name }));
  const asked: string[] = [];
  let started = false;
  const shelf: Pick<Shelf, 'list' | 'versions' | 'open' | 'rescan' | 'damage' | 'readAgain'> = {
    list: () =>
      started
        ? Promise.reject(new Error('all are listed'))
        : Promise.resolve(kos.map((ko) => new MemoryPackage(ko).entry)),
    versions: (_naan, name) => {
      asked.push(name);
      return Promise.resolve(kos.filter((ko) => ko.name === name).map((ko) => new MemoryPackage(ko).entry));
    },
    open: ({ name }) => {
      const found = kos.find((ko) => ko.name === name);
      return Promise.resolve(found && new MemoryPackage(found));
    },
    rescan: (names: readonly KoName[] = []) => {
      asked.push(...names.map(({ name }) => `look at ${name}`));
      return Promise.resolve();
    },
    damage: () => [],
    readAgain: () => Promise.resolve([]),
  };
  class ReadyEngine extends ManualEngine {
    override activate(...[plan]: Parameters<ManualEngine['activate']>) {
      const executor = super.activate(plan);
      this.succeed(plan.id);
      return executor;
    }
  }
  const engine = new ReadyEngine();
  const activator = new Activator({
    shelf: shelf,
    engines: new Map([['javascript', engine]]),
    log: pino({ level: 'silent' }),
  });
  t.after(() => activator[Symbol.dispose]());
  await (
    await activator.start()
  ).decided;
  started = true;
  const before = activator.set;

  await activator.reload('a', 'two');

  assert.deepEqual(asked, ['look at two', 'two']);
  const same = activator.set.endpoints.map((each, at) => each === before.endpoints[at]);
  assert.deepEqual(same, [true, true, false], 'one, three, two');

  const all = t.mock.fn(() => before.endpoints);
  Object.defineProperty(activator.set, 'endpoints', { get: all });
  assert.deepEqual([activator.unreadable('a', 'one'), activator.unread], [undefined, []]);
  assert.equal(all.mock.callCount(), 0, 'a 404 looks at no other endpoint');
});
