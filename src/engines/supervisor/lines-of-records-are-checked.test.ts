import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from './frames.ts';
import { recordLinesOf } from './from-program.ts';

test('results that follow each other stay together, and errors stand between them', () => {
  const text =
    '{"result":1}\n{"result":2}\n!1{"description":"no"}\n!4{"description":"odd"}\n{"result":"\u00c3\u00a4"}\n';
  assert.deepEqual(recordLinesOf(text, 5, 5, false), [
    { lines: '{"result":1}\n{"result":2}\n', count: 2 },
    { kind: 'thrown', description: 'no' },
    { kind: 'unreadable', description: 'odd' },
    { lines: '{"result":"\u00c3\u00a4"}\n', count: 1 },
  ]);
});

test('what a sandbox sends has one line for each record, each a result or an error', () => {
  for (const text of [
    '',
    '{"result":1}\n',
    '{"result":1}\n{"result":2}',
    '{"result":1}\n{"result":2}\n{"result":3}\n',
    '{"result":1}\n2\n',
    '{"result":1}\n\n',
    '{"result":1}\n!1{"description":1}\n',
    '{"result":1}\n{"error":{}}\n',
  ])
    assert.throws(() => recordLinesOf(text, 2, 2, false), ProtocolError, JSON.stringify(text));
});

test('results that code may have written itself are looked at', () => {
  assert.deepEqual(recordLinesOf('{"result":1}\n', 0, 2, true), [{ lines: '{"result":1}\n', count: 1 }]);
  assert.throws(() => recordLinesOf('{"result":1,}\n', 0, 2, true), ProtocolError);
});
