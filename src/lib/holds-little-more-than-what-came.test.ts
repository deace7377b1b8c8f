import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { GrowingBytes } from './growing-bytes.ts';

const KILOBYTE = 1024;
const SOURCE = randomBytes(700 * KILOBYTE);

/** The source in pieces of these sizes, in turn; each has memory of its own unless `pooled`. */
function collect(sizes: readonly number[], total: number, pooled = false): GrowingBytes {
  const bytes = new GrowingBytes();
  for (let at = 0, i = 0; at < total; i++) {
    const size = Math.min(sizes[i % sizes.length] ?? 1, total - at);
    const cut = SOURCE.subarray(at, at + size);
    bytes.add(pooled ? cut : Buffer.from(Uint8Array.from(cut).buffer));
    at += size;
    assert.equal(bytes.size, at);
  }
  return bytes;
}

const CUTS = [[1], [2, 3], [1000], [16 * KILOBYTE], [64 * KILOBYTE], [64 * KILOBYTE, 1], [1, 16 * KILOBYTE], [5, 0, 7]];

test('what comes in pieces of any size is put together as it came', () => {
  for (const sizes of CUTS)
    for (const total of [0, 1, 1023, 1024, 1025, 70_000, SOURCE.length]) {
      const bytes = collect(sizes, total);
      assert.ok(bytes.take().equals(SOURCE.subarray(0, total)), `${total} bytes in pieces of ${sizes.join(', ')}`);
      assert.deepEqual([bytes.size, bytes.held, bytes.take().length], [0, 0, 0]);
    }
});

test('no more than twice what came is held, and a block', () => {
  for (const sizes of CUTS)
    for (const pooled of [false, true]) {
      const bytes = collect(sizes, SOURCE.length, pooled);
      const most = 2 * SOURCE.length + 16 * KILOBYTE;
      assert.ok(bytes.held >= bytes.size && bytes.held <= most, `${bytes.held} in pieces of ${sizes.join(', ')}`);
    }
  assert.ok(collect([1], 100).held <= 1024);
});

test('a piece that was cut from something large is counted as that, and copied once more comes', () => {
  const slab = Buffer.allocUnsafeSlow(64 * KILOBYTE);
  const bytes = new GrowingBytes();
  bytes.add(slab.subarray(0, 10));
  assert.equal(bytes.held, slab.length);
  bytes.add(slab.subarray(10, 20));
  assert.equal(bytes.held, KILOBYTE);
});

test('one piece alone is given as it came, not copied', () => {
  const bytes = new GrowingBytes();
  const piece = Buffer.from('whole');
  bytes.add(Buffer.alloc(0));
  bytes.add(piece);
  assert.equal(bytes.take(), piece);
});
