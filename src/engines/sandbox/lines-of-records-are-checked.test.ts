import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OddFrame } from '../supervisor/frames.ts';
import { recordLinesOf } from './from-process.ts';

test('results that follow each other stay together, and errors stand between them', () => {
  const text = '{"result":1}\n{"result":2}\n!{"message":"no"}\n?{"message":"odd"}\n{"result":"\u00c3\u00a4"}\n';
  assert.deepEqual(recordLinesOf(text, 5), [
    { lines: '{"result":1}\n{"result":2}\n', count: 2 },
    { fault: 'code', message: 'no' },
    { fault: 'input', message: 'odd' },
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
    '{"result":1}\n!{"message":1}\n',
    '{"result":1}\n{"error":{}}\n',
  ])
    assert.throws(() => recordLinesOf(text, 2), OddFrame, JSON.stringify(text));
});
