import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';

const PROJECT = resolve(import.meta.dirname, '../../..');
const folder = await mkdtemp(join(tmpdir(), 'kgrid-linked-'));
after(() => rm(folder, { recursive: true }));

test('a working copy whose node_modules is a link runs code', async () => {
  for (const part of ['src', 'test/support', 'package.json']) {
    await cp(join(PROJECT, part), join(folder, part), { recursive: true });
  }
  await symlink(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  const program = `
    import { TestJavascript } from ${JSON.stringify(join(folder, 'test/support/javascript.ts'))};
    const javascript = new TestJavascript();
    const awake = setTimeout(() => process.exit(1), 20_000);
    const executor = await javascript.activate('function run(n) { return n + 1; }');
    process.stdout.write(String(await javascript.call(executor, 41)));
    clearTimeout(awake);
    await javascript[Symbol.asyncDispose]();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  assert.equal(stdout, '42');
});
