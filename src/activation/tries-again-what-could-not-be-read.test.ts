import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import pino from 'pino';
import { welcomeKo } from '../../test/acceptance/support/ko.ts';
import { ManualEngine, MemoryPackage } from '../../test/support/in-memory.ts';
import { shelfNotReadable } from '../lib/errors.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { Activator } from './activator.ts';

const unreadable = () => shelfNotReadable('cannot be read at the moment (EIO)', new Error('EIO'));

/** An activator with the KOs `one` and `two`, of which `two` is hard to read. */
function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const kos = ['one', 'two'].map((name) => welcomeKo({ naan: 'a', name }));
  const broken = { package: false, artifact: false };
  const shelf: Pick<Shelf, 'list' | 'versions' | 'open' | 'rescan' | 'damage' | 'readAgain'> = {
    list: () => Promise.resolve(kos.map((ko) => new MemoryPackage(ko).entry)),
    versions: (_naan, name) =>
      Promise.resolve(kos.filter((ko) => ko.name === name).map((ko) => new MemoryPackage(ko).entry)),
    open: ({ name }) => {
      const ko = kos.find((each) => each.name === name);
      if (ko === undefined) return Promise.resolve(undefined);
      if (broken.package && name === 'two') return Promise.reject(unreadable());
      const pkg = new MemoryPackage(ko);
      const read = pkg.read.bind(pkg);
      pkg.read = (path) =>
        broken.artifact && name === 'two' && path.endsWith('.js') ? Promise.reject(unreadable()) : read(path);
      return Promise.resolve(pkg);
    },
    rescan: () => Promise.resolve(),
    damage: () => [],
    readAgain: () => Promise.resolve([]),
  };
  /** Reads the code, as every engine does, and is done. */
  class ReadingEngine extends ManualEngine {
    override async activate(...[plan]: Parameters<ManualEngine['activate']>) {
      await plan.read(plan.entry);
      const executor = super.activate(plan);
      this.succeed(plan.id);
      return executor;
    }
  }
  const engine = new ReadingEngine();
  const activator = new Activator({
    shelf: shelf,
    engines: new Map([['javascript', engine]]),
    log: pino({ level: 'silent' }),
  });
  t.after(() => activator[Symbol.dispose]());
  const statuses = (): string[] =>
    activator.set.endpoints.map(({ id, status }) => `${id.split('/')[1] ?? ''} ${status}`);
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 50; i++) await turn();
  };
  return { activator, broken, statuses, settle };
}

const BOTH = ['one ACTIVATED', 'two ACTIVATED'];

test('a KO that cannot be read at the start is tried again, less and less often, until it runs', async (t) => {
  const { activator, broken, statuses, settle } = setUp(t);
  broken.package = true;
  await (
    await activator.start()
  ).decided;
  assert.deepEqual(statuses(), ['one ACTIVATED']);
  assert.match(activator.unreadable('a', 'two') ?? '', /EIO/);
  assert.equal(activator.unreadable('a', 'one'), undefined);
  for (const delay of [1000, 2000]) {
    t.mock.timers.tick(delay);
    await settle();
    assert.deepEqual(statuses(), ['one ACTIVATED']);
  }
  broken.package = false;
  t.mock.timers.tick(3999);
  await settle();
  assert.deepEqual(statuses(), ['one ACTIVATED'], 'not yet');
  t.mock.timers.tick(1);
  await settle();
  assert.deepEqual(statuses(), BOTH);
  assert.deepEqual(activator.unread, []);
});

test('code that cannot be read once is read again, by itself and by a refresh', async (t) => {
  for (const how of ['itself', 'refresh']) {
    const { activator, broken, statuses, settle } = setUp(t);
    broken.artifact = true;
    await (
      await activator.start()
    ).decided;
    assert.deepEqual(statuses(), ['one ACTIVATED', 'two FAILED_TO_ACTIVATE']);
    broken.artifact = false;
    if (how === 'refresh') await activator.refreshAll();
    else t.mock.timers.tick(1000);
    await settle();
    assert.deepEqual(statuses(), BOTH, how);
    t.mock.timers.reset();
  }
});

test('a call tries again at once, and many calls share one attempt', async (t) => {
  const { activator, broken, statuses } = setUp(t);
  broken.package = true;
  await (
    await activator.start()
  ).decided;
  broken.package = false;
  const before = activator.set;
  await Promise.all([activator.tryAgain(), activator.tryAgain(), activator.tryAgain()]);
  assert.deepEqual(statuses(), BOTH);
  assert.notEqual(activator.set, before);
});

test('a reload leaves active what cannot be read, takes in the rest, and tells of it', async (t) => {
  const { activator, broken, statuses } = setUp(t);
  await (
    await activator.start()
  ).decided;
  const [one, two] = activator.set.endpoints;
  broken.package = true;
  await activator.reloadAll();
  assert.deepEqual(statuses(), BOTH);
  assert.notEqual(activator.set.endpoints[0], one);
  assert.equal(activator.set.endpoints[1], two);
  assert.equal(activator.unread.length, 1);
});
