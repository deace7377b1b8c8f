import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { readLines } from './read-lines.ts';

async function linesOf(chunks: Iterable<string | Buffer>, longest: number): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  readLines(stream, longest, (line) => lines.push(line));
  for (const chunk of chunks) if (!stream.write(chunk)) await new Promise((done) => stream.once('drain', done));
  await new Promise<void>((done) => stream.once('end', done).end());
  return lines;
}

test('lines arrive as they were written, wherever the stream is cut', async () => {
  const text = 'one\n\nthe thrée\nlast';
  for (let cut = 0; cut <= Buffer.byteLength(text); cut++) {
    const bytes = Buffer.from(text);
    assert.deepEqual(await linesOf([bytes.subarray(0, cut), bytes.subarray(cut)], 100), text.split('\n'));
  }
});

test('a long line is cut, however long it is', async () => {
  const chunk = Buffer.alloc(2 ** 20, 'x');
  function* chunks(): Iterable<Buffer> {
    // More than a string can hold.
    for (let i = 0; i < 600; i++) yield chunk;
    yield Buffer.from('\nnext\n');
  }
  assert.deepEqual(await linesOf(chunks(), 50), ['x'.repeat(50), 'next']);
});
