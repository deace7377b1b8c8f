import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gone } from '../../../test/runtimes/support/processes.ts';
import { nodeFiles, PROGRAMS } from '../../confinement/needed-files.ts';
import { kernel, nodeWalls, temporaryFolder } from '../../../test/support/confinement/behind-walls.ts';
import { NO_WALLS } from '../../confinement/walls.ts';

const module = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);

/** In the place of an activator: starts a shell that makes two processes, of which one is forked twice, and tells their ids. */
const starter = `
import { ChildProgram } from ${module('./process.ts')};
const { walls, kernel, scratch } = JSON.parse(process.argv[1]);
new ChildProgram(
  {
    program: '/bin/sh',
    args: ['-c', 'sleep 1000 & echo $! $$ > ' + scratch + '/pids; (sleep 1000 & echo $! >> ' + scratch + '/pids); echo done; wait'],
    env: { PATH: '/usr/bin:/bin' }, input: '', isWorker: true, walls,
  },
  { onFrame() {}, mostOf: () => 0, onExit: console.error, onOutput: (_, stream) => stream.on('data', (text) => process.stdout.write(text)) },
  kernel,
);`;

for (const [name, on] of [
  ['behind walls', kernel],
  ['without walls', NO_WALLS],
] as const)
  test(`what a process has started ends when the activator is killed, ${name}`, async () => {
    await using folder = await temporaryFolder();
    const own = nodeWalls(folder.path, { processes: true });
    const walls = { ...own, execute: [...nodeFiles().execute, ...PROGRAMS] };
    const given = JSON.stringify({ walls, kernel: on, scratch: folder.path });
    const activator = spawn(process.execPath, ['--input-type=module', '-e', starter, given], {
      env: {},
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await activator.stdout.take(1).toArray()) as Buffer[];
    assert.equal(String(said), 'done\n');
    const pids = (await readFile(`${folder.path}/pids`, 'utf8')).trim().split(/\s/).map(Number);
    assert.equal(pids.length, 3);
    activator.kill('SIGKILL');
    await gone(pids);
  });
