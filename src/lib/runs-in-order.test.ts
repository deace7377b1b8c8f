import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue, mapBounded } from './fair-queue.ts';

test('work of one key runs in order, that of others beside it, and an error ends only its own', async () => {
  const queue = new FairQueue({ perKey: 1 });
  const events: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue.run('a', async () => {
    await gate.promise;
    events.push('a1');
    throw new Error('a1 failed');
  });
  const second = queue.run('a', () => Promise.resolve(events.push('a2')));
  await queue.run('b', () => Promise.resolve(events.push('b')));
  assert.deepEqual(events, ['b']);
  gate.resolve();
  await assert.rejects(first, /a1 failed/);
  assert.equal(await second, 3);
  assert.deepEqual(events, ['b', 'a1', 'a2']);
});

test('a queue is idle when all work has ended, that which was added meanwhile too', async () => {
  const queue = new FairQueue({ perKey: 1 });
  let ended = 0;
  const add = (left: number): void =>
    void queue.run('a', async () => {
      if (left > 0) add(left - 1);
      await Promise.resolve();
      ended++;
    });
  add(3);
  await queue.idle();
  assert.equal(ended, 4);
  await queue.idle();
});

test('as many run as may, keys take turns, and what fails makes room too', async () => {
  const queue = new FairQueue({ limit: 2, perKey: 1 });
  const begun: string[] = [];
  const ends: PromiseWithResolvers<void>[] = [];
  const add = (key: string, name: string): Promise<void> =>
    queue.run(key, () => {
      begun.push(name);
      const end = Promise.withResolvers<void>();
      ends.push(end);
      return end.promise;
    });
  const all = [add('a', 'a1'), add('a', 'a2'), add('a', 'a3'), add('b', 'b1'), add('b', 'b2'), add('c', 'c1')];
  const settled = Promise.allSettled(all);
  const expected = ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'];
  for (let ended = 0; ended < expected.length; ended++) {
    while (ends.length < Math.min(ended + 2, expected.length)) await Promise.resolve();
    assert.deepEqual(begun, expected.slice(0, ended + 2));
    if (ended === 1) ends[ended]?.reject(new Error('b1 failed'));
    else ends[ended]?.resolve();
  }
  assert.deepEqual(
    (await settled).map(({ status }) => status === 'fulfilled'),
    [true, true, true, false, true, true],
  );
  await queue.idle();
});

test('a bounded map keeps the order of the items and its bound', async () => {
  let running = 0;
  let most = 0;
  const results = await mapBounded([5, 1, 4, 2, 3], 2, async (n) => {
    most = Math.max(most, ++running);
    for (let i = 0; i < n; i++) await Promise.resolve();
    running--;
    return n * 10;
  });
  assert.deepEqual(results, [50, 10, 40, 20, 30]);
  assert.equal(most, 2);
  assert.deepEqual(await mapBounded([], 2, () => Promise.resolve(1)), []);
  await assert.rejects(
    mapBounded([1], 2, () => Promise.reject(new Error('no'))),
    /no/,
  );
});
