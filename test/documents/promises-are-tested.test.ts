import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { rowsOf, titlesIn } from '../support/written-tests.ts';
import { PROJECT, read } from './support/project.ts';

const rows = rowsOf(read('test/PROMISES.md'));
const named = rows.flatMap(({ tests }) => tests);

test('each promise stands once and names tests that exist', () => {
  assert.ok(rows.length > 30);
  assert.equal(new Set(rows.map(({ statement }) => statement)).size, rows.length, 'a promise stands twice');
  const written = new Map<string, string[]>();
  const missing = named.filter((name) => {
    const [file = '', title = ''] = name.split(' › ');
    if (!written.has(file)) written.set(file, titlesIn(read(file), file));
    return written.get(file)?.includes(title) !== true;
  });
  assert.deepEqual(missing, []);
  for (const { statement, tests } of rows) assert.ok(tests.length > 0, `${statement}: names no test`);
});

test('each test file about faults is named by a promise', () => {
  const files = globSync('test/{access,archives,crash,fleet,hostile,load,remote,shutdown}/*.test.ts', { cwd: PROJECT });
  assert.ok(files.length > 30);
  assert.deepEqual(
    files.filter((file) => !named.some((name) => name.startsWith(`${file} › `))),
    [],
  );
});
