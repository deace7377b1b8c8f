import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { temporaryFolder } from '../acceptance/support/service.ts';
import { sharedProcessOf, SharedProcesses } from './shared-processes.ts';
import { testFiles } from './test-files.ts';

const PROJECT = resolve(import.meta.dirname, '../..');

test('every file of tests is run once, in a process of its own or in a shared one', () => {
  const all = testFiles(PROJECT);
  using shared = new SharedProcesses(all, PROJECT);
  const run = shared.files.flatMap((file) =>
    file.endsWith('.mjs')
      ? [...readFileSync(file, 'utf8').matchAll(/import\("(.+)"\)/g)].map(([, url = '']) => fileURLToPath(url))
      : [file],
  );
  assert.deepEqual(run.sort(), [...all].sort());
  assert.ok(shared.files.length < all.length / 1.5, `${shared.files.length} processes for ${all.length} files`);
});

test('a file that cannot be loaded is named', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'src/broken.test.ts');
  await mkdir(join(folder.path, 'src'));
  await writeFile(file, 'this is no program');
  using shared = new SharedProcesses([file], folder.path);
  const [together = ''] = shared.files;
  assert.match(together, /units\.test\.mjs$/);
  await assert.rejects(import(together), /^Error: src\/broken\.test\.ts: SyntaxError/);
});

test('what changes or measures its process shares it with no other file', () => {
  const path = join('src', 'lib', 'any.test.ts');
  assert.equal(sharedProcessOf(path, 'assert.equal(1, 1);'), 'units');
  for (const text of ["process.env['A'] = '1'", 'mock.timers.enable()', "from 'node:child_process'", 'footprintOf(1)'])
    assert.equal(sharedProcessOf(path, text), undefined, text);
});
