import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AnswersInOrder, divide, resultLine, textsOf, withLargeOnesApart } from './records.ts';
import type { RecordBlock, RecordsPart } from './records.ts';

const blockOf = (texts: readonly string[]): RecordBlock => ({
  text: Buffer.from(texts.join('\n')).toString('latin1'),
  count: texts.length,
});
const someTexts = fc.array(fc.oneof(fc.json(), fc.constant('"ä€😀"')), { minLength: 1, maxLength: 30 });

test('records that are divided or set apart are the same ones in the same order', () => {
  fc.assert(
    fc.property(someTexts, fc.integer({ min: 1, max: 40 }), (texts, size) => {
      const [first, rest] = divide(blockOf(texts), size);
      assert.equal(first.count, Math.min(size, texts.length));
      assert.deepEqual([...textsOf(first), ...(rest ? textsOf(rest) : [])], texts);
      const apart = withLargeOnesApart(blockOf(texts), size);
      assert.deepEqual(apart.flatMap(textsOf), texts);
      for (const { text, count } of apart)
        assert.ok(count === 1 || text.split('\n').every(({ length }) => length <= size));
    }),
  );
});

test('answers that come in any order are given in that of their records, once all are there', () => {
  const given: (readonly RecordsPart[])[] = [];
  const answers = new AnswersInOrder(4, (answer) => given.push(answer));
  const refused = new Error('refused');
  answers.put(3, [resultLine('4')]);
  answers.put(0, [{ lines: '{"result":1}\n{"result":2}\n', count: 2 }]);
  assert.equal(given.length, 0);
  answers.put(2, [refused]);
  assert.deepEqual(given, [
    [{ lines: '{"result":1}\n{"result":2}\n', count: 2 }, refused, { lines: '{"result":4}\n', count: 1 }],
  ]);
});
