import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { inRound } from '../../../test/support/round.ts';
import { FrameReader, ProtocolError, RESULT_LINES, frame } from './frames.ts';
import { failureOf, linesOf, logLineOf, mostBytesOfSandbox, nestedQuestionOf } from './from-program.ts';

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

const encodingOf = (kind: number): 'latin1' | 'utf8' => (kind === RESULT_LINES ? 'latin1' : 'utf8');

test('frames arrive as they were sent, wherever the stream is cut', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }), (sent, sizes) => {
      const bytes = Buffer.concat(sent.map((each) => frame(...each)));
      // Half a character pair has no bytes of its own.
      const expected = sent.map(([kind, a, b, text]) => [kind, a, b, Buffer.from(text).toString(encodingOf(kind))]);
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

test('what is too long for its kind is found in its header, before its text has come', () => {
  const reader = new FrameReader(
    () => assert.fail('it is no frame'),
    () => 100,
  );
  const bytes = frame(18, 1, 2, 'x'.repeat(101)).subarray(0, 13);
  reader.push(bytes.subarray(0, 12));
  assert.throws(() => reader.push(bytes.subarray(12)), ProtocolError);
  assert.throws(() => mostBytesOfSandbox(0, 1, 100), ProtocolError);
  assert.throws(() => mostBytesOfSandbox(2, 1, 100), ProtocolError);
});

test('a text that is not UTF-8 is none, and one that holds the character for such is', () => {
  const text = 'a \ufffd';
  assert.deepEqual(readOf(frame(1, 2, 3, text), [100]), [[1, 2, 3, text]]);
  const bytes = frame(1, 2, 3, 'abc');
  for (const [at, byte] of [
    [13, 0xff],
    [15, 0xc3],
    [14, 0xed],
  ] as const) {
    const broken = Buffer.from(bytes);
    broken[at] = byte;
    assert.throws(() => readOf(broken, [100]), ProtocolError);
  }
});

test('chunks of one byte are held as their bytes', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const bytes = frame(18, 1, 2, 'x'.repeat(300_000));
  let read = '';
  const reader = new FrameReader((_kind, _a, _b, text) => (read = text));
  const before = held();
  // As they come from a socket: each of its own.
  for (const byte of bytes.subarray(0, -1)) reader.push(Buffer.from(new Uint8Array([byte]).buffer));
  assert.equal(read, '');
  const grown = held() - before;
  reader.push(bytes.subarray(-1));
  assert.equal(read.length, 300_000);
  assert.ok(grown < 3_000_000, `${grown} bytes are held`);
});

const json = fc.oneof(
  fc.json(),
  fc.constantFrom('{}', '[]', 'null', '{"description":7}', '{"description":"x","status":401}'),
);
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  json,
  json.map((each) => `!1${each}`),
  fc.tuple(json, fc.string()).map(([head, body]) => `${head}\n${body}`),
  fc.tuple(fc.constantFrom('info', 'error', 'odd', ''), fc.string()).map(([head, line]) => `${head}\n${line}`),
);

test('whatever is read of a text is of its form, or it is an odd frame', () => {
  const isRead = <T>(read: () => T, isOfItsForm: (value: T) => boolean): void => {
    let value: T;
    try {
      value = read();
    } catch (thrown) {
      assert.ok(thrown instanceof ProtocolError, String(thrown));
      return;
    }
    assert.ok(isOfItsForm(value), JSON.stringify(value));
  };
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 4 }), (text, calls) => {
      isRead(
        () => linesOf(text, calls),
        (lines) =>
          lines.length === calls &&
          lines.every((line) => (typeof line === 'string' ? line !== '' : typeof line.description === 'string')),
      );
      isRead(
        () => failureOf(calls + 4, text),
        ({ kind, description }) => kind !== 'invalid' && typeof description === 'string',
      );
      isRead(
        () => nestedQuestionOf(text, 3, 100),
        ({ id, depth, left }) => typeof id === 'string' && depth > 3 && left <= 100,
      );
      isRead(
        () => logLineOf(text),
        ({ level }) => ['info', 'warn', 'error', 'debug'].includes(level),
      );
    }),
    { numRuns: inRound(1000, 3000), seed: 20_261_122 },
  );
});

test('any bytes are frames, or odd ones, and nothing else', () => {
  const someKinds = fc.constantFrom(4, 5, 7, 14, 15, 16, 32, 99);
  const streams = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.tuple(someKinds, number, number, texts).map((each) => frame(...each)),
    ),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(streams, fc.integer({ min: 1, max: 40 }), (parts, size) => {
      const bytes = Buffer.concat(parts);
      const reader = new FrameReader(
        (kind, _a, _b, text) => assert.ok(Buffer.byteLength(text) <= mostBytesOfSandbox(kind, 2, 1000)),
        (kind) => mostBytesOfSandbox(kind, 2, 1000),
      );
      try {
        for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
      } catch (thrown) {
        assert.ok(thrown instanceof ProtocolError, String(thrown));
      }
    }),
    { numRuns: inRound(1000, 3000), seed: 20_261_122 },
  );
});
