import assert from 'node:assert/strict';
import { cp, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { TestActivator } from './activator.ts';
import { temporaryFolder, TestRuntime } from './runtime.ts';

const project = join(import.meta.dirname, '../../..');

test('the folder of the runtime runs with the files that its README names, and nothing else of the project', async () => {
  const readme = await readFile(join(project, 'runtimes/server/README.md'), 'utf8');
  const needed = [...readme.matchAll(/^- `((?:src|runtimes)\/[\w/.-]+)`$/gm)].map(([, path = '']) => path);
  const folder = await temporaryFolder();
  try {
    for (const path of needed) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await cp(join(project, path), join(folder, path), { recursive: true });
    }
    await using activator = await TestActivator.start();
    await using runtime = await TestRuntime.start(activator, {}, join(folder, 'runtimes/node'));
    const files = { 'src/index.js': 'module.exports = (n) => n + 1;' };
    const activated = await runtime.activate({ uri: 'a/b/c/d', files });
    assert.equal(activated.status, 200, JSON.stringify(activated.body));
    assert.deepEqual((await runtime.post('a/b/c/d', 1)).body, { result: 2 });
  } finally {
    await rm(folder, { recursive: true });
  }
});
