import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameReader, frame } from './frames.ts';

type Frame = [kind: number, a: number, b: number, text: string];

const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const frames = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 255 }), number, number, fc.string({ unit: 'binary', maxLength: 40 })),
  { maxLength: 6 },
);

/** What a reader makes of the bytes when they come in pieces of these sizes. */
function readOf(bytes: Buffer, sizes: readonly number[]): Frame[] {
  const read: Frame[] = [];
  const reader = new FrameReader((...each) => void read.push(each));
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    reader.push(bytes.subarray(at, at + size));
    at += size;
  }
  return read;
}

test('frames arrive as they were sent, wherever the stream is cut', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }), (sent, sizes) => {
      const bytes = Buffer.concat(sent.map((each) => frame(...each)));
      // Half a character pair has no bytes of its own.
      const expected = sent.map(([kind, a, b, text]) => [kind, a, b, Buffer.from(text).toString('utf8')]);
      assert.deepEqual(readOf(bytes, sizes), expected);
      assert.deepEqual(readOf(bytes, [bytes.length || 1]), expected);
    }),
  );
});

test('large texts and numbers fit', () => {
  const text = 'é'.repeat(300_000);
  assert.deepEqual(readOf(frame(2, 2 ** 32 - 1, 7, text), [65_536]), [[2, 2 ** 32 - 1, 7, text]]);
});

test('a frame that has not arrived whole is none yet', () => {
  const bytes = frame(1, 2, 3, 'text');
  assert.deepEqual(readOf(bytes.subarray(0, bytes.length - 1), [100]), []);
  assert.deepEqual(readOf(bytes.subarray(0, 5), [1]), []);
});
