import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '../activation/endpoint.ts';
import { SchemaBreaks } from './call-checks.ts';

const endpoint = {
  id: 'a/b/1.0/run',
  ko: { id: { naan: 'a', name: 'b', version: 'v1' } },
  entry: { engine: 'node' },
} as unknown as Endpoint;

test('a place has one line a minute, and the rest is counted', () => {
  const lines: Record<string, unknown>[] = [];
  let now = 0;
  const log = { info: () => undefined, warn: (facts: object) => void lines.push({ ...facts }) };
  const breaks = new SchemaBreaks(log, () => now);
  const note = (schemaPath: string): void =>
    breaks.note(endpoint, 'input', {
      told: [{ path: '/x/Bob', schemaPath, expected: 'integer', came: '"Bob"' }],
      more: 0,
    });
  const told = (): unknown[] => lines.splice(0).map(({ path, more }) => [path, more]);
  for (let i = 0; i < 5; i++) note('/age');
  note('/sex');
  assert.deepEqual(told(), [
    ['/age', undefined],
    ['/sex', undefined],
  ]);
  now = 59_000;
  breaks.look();
  assert.deepEqual(told(), []);
  now = 60_000;
  breaks.look();
  note('/age');
  note('/sex');
  assert.deepEqual(told(), [
    ['/age', 4],
    ['/sex', undefined],
  ]);
  for (let i = 0; i < 300; i++) note(`/p${i}`);
  assert.equal(told().length, 99);
  breaks[Symbol.dispose]();
  assert.deepEqual(told(), [
    ['/age', 1],
    ['(other places)', 201],
  ]);
  assert.doesNotMatch(JSON.stringify(lines), /Bob/);
});
