import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { TestActivator } from '../node/test/activator.ts';
import { temporaryFolder } from '../node/test/runtime.ts';

const KGRID = join(import.meta.dirname, '../../cli/kgrid.js');

test('one command runs both engines, each at an address of its own, and ends with both', async () => {
  await using activator = await TestActivator.start();
  const folder = await temporaryFolder();
  const env = {
    ...{ PATH: process.env['PATH'], HOME: folder, KGRID_NODE_ENV_PORT: '0', KGRID_PYTHON_ENV_PORT: '0' },
    ...{ KGRID_NODE_CACHE_DIR: join(folder, 'node'), KGRID_PYTHON_CACHE_DIR: join(folder, 'python') },
  };
  const args = [KGRID, 'runtime', '--engine', 'node,python', '--activator', activator.url];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const urls: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    const said = JSON.parse(line) as { event: string; url: string };
    if (said.event === 'listening') urls.push(said.url);
    if (urls.length === 2) break;
  }
  const told = await Promise.all(urls.map(async (url) => (await (await fetch(`${url}/info`)).json()) as object));
  assert.partialDeepStrictEqual(told, [
    { engine: 'node', url: urls[0], status: 'up' },
    { engine: 'python', url: urls[1], status: 'up' },
  ]);
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
});

test('an engine that it does not have is one line, and so is what replaces the runtime in Python', async () => {
  const saidBy = async (program: string, args: string[], cwd?: string): Promise<[number | null, string]> => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
    const [said] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    return [child.exitCode, said];
  };
  assert.deepEqual(await saidBy(process.execPath, [KGRID, 'runtime', '--engine', 'cql']), [
    2,
    "--engine must be node, python or both with a comma between, but is 'cql'\n",
  ]);
  const [code, words] = await saidBy('python3', ['-m', 'kgrid_runtime'], join(import.meta.dirname, '../python'));
  assert.equal(code, 1);
  assert.match(words, /^The python runtime is a part of kgrid now.*`kgrid runtime --engine python`.*\n$/);
});
