import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import fc from 'fast-check';
import { HeldBytes } from '../held-bytes.ts';
import { RecordLines } from './record-lines.ts';
import type { RecordLine } from './record-lines.ts';

const MOST = 20;
const BLANK = /^[ \t\r]*$/;

/** What the lines of a whole text are, with the text of a record or the first words of its error. */
function modelOf(bytes: Buffer): [number, string][] {
  const found: [number, string][] = [];
  const mark = bytes.subarray(0, 3).equals(Buffer.from('\u{feff}')) ? 3 : 0;
  let line = 0;
  for (const latin of bytes.subarray(mark).toString('latin1').split('\n')) {
    line++;
    const own = Buffer.from(latin, 'latin1');
    const text = own.toString('utf8');
    if (own.length > MOST + 3) found.push([line, 'too large']);
    else if (BLANK.test(text)) continue;
    else if (own.length > MOST) found.push([line, 'too large']);
    else if (!isUtf8(own)) found.push([line, 'no UTF-8']);
    else if (text.includes('\0')) found.push([line, 'NUL']);
    else found.push([line, text]);
  }
  return found;
}

const short = ({ line, record }: RecordLine): [number, string] => [
  line,
  typeof record === 'string'
    ? record
    : record.message.includes('larger than the limit of 20 bytes')
      ? 'too large'
      : record.message.includes('UTF-8')
        ? 'no UTF-8'
        : record.message.includes('NUL')
          ? 'NUL'
          : record.message,
];

function cut(bytes: Buffer, ends: readonly number[], held = new HeldBytes(1e9)): RecordLine[] {
  const lines = new RecordLines(MOST, held);
  const at = [...new Set(ends.map((end) => end % (bytes.length + 1)))].sort((a, b) => a - b);
  const found = [0, ...at].flatMap((from, i) => [...lines.push(bytes.subarray(from, at[i] ?? bytes.length))]);
  return [...found, ...lines.end()];
}

const piece = fc.oneof(
  fc.constantFrom(
    '\n',
    '\r\n',
    '\n\n',
    ' \n',
    '{"a":1}',
    '\u{feff}',
    '\0',
    'ä',
    '\u{2028}',
    '\r',
    '12345678901234567890',
  ),
  fc.string({ maxLength: 30 }),
);
const someBytes = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => Buffer.from(pieces.join(''))),
  fc.array(fc.oneof(fc.constant(0x0a), fc.nat(255)), { maxLength: 60 }).map((all) => Buffer.from(all)),
);

test('records are the same however their bytes are cut', () => {
  fc.assert(
    fc.property(someBytes, fc.array(fc.nat(100), { maxLength: 8 }), (bytes, ends) => {
      assert.deepEqual(cut(bytes, ends).map(short), modelOf(bytes));
    }),
    { numRuns: 2000 },
  );
});

test('what is held of a line that has begun is let go, however it ends', () => {
  for (const text of ['{"a":1}\n{"b"', 'x'.repeat(100), `${'x'.repeat(100)}\n{}`]) {
    const held = new HeldBytes(1000);
    let now = 0;
    const counting = Object.assign(Object.create(held) as HeldBytes, {
      grow: (_size: number, by: number) => ((now += by), true),
      shrink: (by: number) => void (now -= by),
    });
    const lines = new RecordLines(MOST, counting);
    for (const character of text) lines.push(Buffer.from(character));
    lines[Symbol.dispose]();
    assert.equal(now, 0, text);
  }
});

test('a line for which there is no memory is an error of its own, and the next one is read', () => {
  const held = new HeldBytes(100_000);
  const lines = new RecordLines(1e6, held);
  const found = [...Array<string>(20).fill('x'.repeat(10_000)), '\n{"a":1}\n'].flatMap((text) => [
    ...lines.push(Buffer.from(text)),
  ]);
  assert.deepEqual(
    found.map(({ line, record }) => [line, typeof record === 'string' ? record : /--max-held/.test(record.message)]),
    [
      [1, true],
      [2, '{"a":1}'],
    ],
  );
  assert.equal(held.held, 0, 'all of it is free again');
});

test('bytes without a record are counted until one comes', () => {
  const lines = new RecordLines(MOST, new HeldBytes(1e9));
  const counts = ['\n'.repeat(1000), 'x'.repeat(50), 'x'.repeat(500), '\n1\n', '\n'].map((text) => {
    lines.push(Buffer.from(text));
    return lines.bytesInVain;
  });
  assert.deepEqual(counts, [1000, 0, 500, 0, 1]);
});
