import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { getHeapStatistics } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SpareHeap } from './spare-heap.ts';

const MIB = 2 ** 20;
const total = (): number => getHeapStatistics().total_heap_size;

/** Small objects that live for a while, as those of a start do: the young generation grows, and keeps its size. */
function grow(): void {
  const held: unknown[] = [];
  for (let i = 0; i < 3_000_000; i++) held[i % 600_000] = { id: i, next: [i] };
  assert.equal(held.length, 600_000);
}

test('what was grown and is garbage goes back to the system, and is not looked for again until it grew again', () => {
  using heap = new SpareHeap();
  grow();
  const before = total();
  assert.equal(heap.giveBack(), true);
  assert.ok(before > 100 * MIB && total() < 50 * MIB, `${before / MIB} MB before, ${total() / MIB} MB after`);
  assert.equal(heap.giveBack(), false);
  grow();
  assert.equal(heap.giveBack(), true);
});

test('what the C library keeps between pieces that are in use goes back too', () => {
  using heap = new SpareHeap({ leastGrowth: 0 });
  const resident = (): number => process.memoryUsage.rss();
  let all = Array.from({ length: 4000 }, () => Buffer.allocUnsafeSlow(50_000).fill(1));
  const before = resident();
  all = all.filter((_, i) => i % 100 === 99);
  heap.giveBack();
  assert.ok(before - resident() > 150 * MIB, `${before / MIB} MB before, ${resident() / MIB} MB after`);
  assert.ok(all.length === 40 && all.every((each) => each.every((byte) => byte === 1)));
});

test('it is given back at the first look that finds the service at rest', async () => {
  const parts = [0.5, 0.02, 0.001];
  const looks: { part: number; size: number }[] = [];
  const { port1, port2 } = new MessageChannel();
  using heap = new SpareHeap({
    lookEveryMs: 1,
    busyPart: () => {
      const part = parts.shift() ?? 1;
      looks.push({ part, size: total() });
      if (part === 1) port1.postMessage('looked again');
      return part;
    },
  });
  grow();
  heap.watch();
  const looked = once(port2, 'message');
  port2.start();
  await looked;
  port1.close();
  const [busy, lessBusy, atRest, afterwards] = looks.map(({ size }) => size / MIB);
  assert.ok(busy !== undefined && lessBusy !== undefined && atRest !== undefined && afterwards !== undefined);
  assert.ok(Math.min(busy, lessBusy, atRest) > afterwards + 30, looks.map(({ size }) => size / MIB).join(' '));
});

test('at a start only what a large shelf made grow is given back, what is less at the first rest', () => {
  using heap = new SpareHeap();
  heap.giveBack();
  assert.equal(heap.giveBackAfterStart(), false);
  grow();
  assert.equal(heap.giveBackAfterStart(), true);
  assert.ok(total() < 50 * MIB, `${total() / MIB} MB after`);
});

test('code of other contexts does not get the collector by it', () => {
  using heap = new SpareHeap({ leastGrowth: 0 });
  assert.equal(heap.giveBack(), true);
  assert.equal(runInNewContext('typeof gc'), 'undefined');
});
