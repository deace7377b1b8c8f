import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pino from 'pino';
import { welcomeKo } from '../../test/acceptance/support/ko.ts';
import { ManualEngine, MemoryPackage } from '../../test/support/in-memory.ts';
import { tooManyOpen } from '../lib/errors.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { Activator } from './activator.ts';

test('what is active stays when the shelf cannot open a package at the moment', async () => {
  const kos = ['one', 'two', 'three'].map((name) => welcomeKo({ naan: 'a', name }));
  const opened: MemoryPackage[] = [];
  let busy = false;
  const shelf: Pick<Shelf, 'list' | 'versions' | 'open' | 'rescan' | 'damage' | 'readAgain'> = {
    list: () => Promise.resolve(kos.map((ko) => new MemoryPackage(ko).entry)),
    versions: (_naan, name) =>
      Promise.resolve(kos.filter((ko) => ko.name === name).map((ko) => new MemoryPackage(ko).entry)),
    open: ({ name }) => {
      if (busy && name === 'two') return Promise.reject(tooManyOpen(new Error('EMFILE')));
      const found = kos.find((ko) => ko.name === name);
      const pkg = found && new MemoryPackage(found);
      if (pkg !== undefined) opened.push(pkg);
      return Promise.resolve(pkg);
    },
    rescan: () => Promise.resolve(),
    damage: () => [],
    readAgain: () => Promise.resolve([]),
  };
  const engine = new ManualEngine();
  const activator = new Activator({
    shelf: shelf,
    engines: new Map([['javascript', engine]]),
    log: pino({ level: 'silent' }),
  });
  const { decided } = await activator.start();
  while (activator.set.endpoints.some(({ status }) => status === 'LOADED')) {
    for (const id of engine.begun) engine.succeed(id);
    await setImmediate();
  }
  await decided;
  const { set } = activator;
  assert.equal(set.endpoints.filter(({ status }) => status === 'ACTIVATED').length, 3);

  busy = true;
  opened.splice(0);
  await assert.rejects(activator.reloadAll(), { code: 'too-many-open', status: 503 });
  assert.equal(activator.set, set);
  assert.deepEqual(
    opened.map(({ released }) => released),
    [true, true],
  );
});

test('who asks before it is known what is active waits for a while, and is told to come again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const listed = Promise.withResolvers<[]>();
  const shelf = { list: () => listed.promise, damage: () => [] } as unknown as Shelf;
  const activator = new Activator({ shelf, engines: new Map(), log: pino({ level: 'silent' }) });
  const starting = activator.start();
  const late = activator.whenLoaded();
  t.mock.timers.tick(10_000);
  await assert.rejects(late, { status: 503, headers: { 'retry-after': '1' } });
  const next = activator.whenLoaded();
  listed.resolve([]);
  await next;
  await (
    await starting
  ).decided;
  activator[Symbol.dispose]();
});
