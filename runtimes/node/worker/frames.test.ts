import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encode, frame, FrameError, FrameReader, type Kind } from './frames.ts';

type Message = [Kind, number, number, string];

function read(chunks: readonly Buffer[], limit = 1_000_000): Message[] {
  const messages: Message[] = [];
  const reader = new FrameReader(limit, (...message) => messages.push(message));
  for (const chunk of chunks) reader.push(chunk);
  return messages;
}

describe('frames', () => {
  const messages: Message[] = [
    ['C', 1, 3, '{"a":\n1}'],
    ['A', 1_000_000_000, 0, 'ä😀,\u0000\n'],
    ['P', 0, 0, ''],
    ['R', 7, 200, 'x'.repeat(70_000)],
  ];
  const encoded = messages.map((message) => encode(...message));
  const one = frame(encoded.join(''));
  const several = Buffer.concat(encoded.map(frame));

  it('carry messages, one or many each', () => {
    assert.deepEqual(read([one]), messages);
    assert.deepEqual(read([several]), messages);
  });

  it('may come in pieces of any size', () => {
    for (const size of [1, 3, 5, 1000, 65_536]) {
      const pieces = Array.from({ length: Math.ceil(several.length / size) }, (_, i) =>
        several.subarray(i * size, (i + 1) * size),
      );
      assert.deepEqual(read(pieces), messages);
    }
  });

  it('are refused where they are not what the other side sends', () => {
    for (const text of [
      'x',
      'Z1,2,0\n',
      'A1,2\n',
      'A1,2,9\nshort',
      'A1,2,-1\n',
      'A-1,0,0\n',
      'Ax,0,0\n',
      'A1,2,1e9\n',
      '\n\n\n',
      'constructor',
    ]) {
      assert.throws(() => read([frame(text)]), FrameError, text);
    }
    assert.throws(() => read([one], 1000), FrameError);
    assert.throws(() => read([Buffer.from([255, 255, 255, 255])]), FrameError);
  });
});
