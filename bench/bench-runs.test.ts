import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';

test('a quick run prints a row for each server at each number of connections', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'run.ts'),
    ...['--quick', '--only', 'execute', '--seconds', '1'],
  ]);
  const [head, , ...rows] = stdout
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.slice(2, -2).split(' | '));
  assert.deepEqual(head, ['case', 'what', 'requests/s', 'p50 ms', 'p99 ms', 'main µs', 'others µs', 'ratio to bare']);
  assert.deepEqual(
    rows.map(([name, what]) => `${name}: ${what}`),
    [
      'execute: c10 · bare node:http',
      'execute: c10 · service',
      'execute: c100 · bare node:http',
      'execute: c100 · service',
    ],
  );
  for (const figure of rows.flatMap((cells) => cells.slice(2))) assert.match(figure, /^\d[\d,]*(\.\d+)?$/);
});
