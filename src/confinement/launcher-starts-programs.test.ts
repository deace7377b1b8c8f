import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { gone } from '../../test/runtimes/support/processes.ts';
import { launchOf } from './launch.ts';
import { nodeFiles, packagesAbove } from './needed-files.ts';
import { kernel, nodeWalls, run, temporaryFolder } from '../../test/support/confinement/behind-walls.ts';

const STILL_THERE = fileURLToPath(new URL('../../test/support/confinement/still-there.js', import.meta.url));

interface Told {
  readonly pid: number;
  readonly environment: readonly string[];
  readonly capabilities: readonly string[];
  readonly noNewPrivileges: string;
  readonly filters: string;
  readonly limits: string;
}

function start(scratch: string, more: readonly string[] = []) {
  const own = nodeWalls(scratch);
  const walls = { ...own, read: [...own.read, ...more, STILL_THERE, ...packagesAbove(STILL_THERE)] };
  const program = { program: process.execPath, args: [STILL_THERE], env: { SECRET: 'text' } };
  const launch = launchOf(program, walls, kernel, 0);
  assert.ok(launch);
  const child = spawn(launch.program, launch.args, { env: launch.env, stdio: ['ignore', 'pipe', 'inherit'] });
  const told = new Promise<Told>((resolve) => {
    let line = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      line += chunk.toString('utf8');
      if (line.endsWith('\n')) resolve(JSON.parse(line) as Told);
    });
  });
  return { child, told };
}

test('a program has its environment, its pipes, its limits, and nothing to gain', async () => {
  await using folder = await temporaryFolder();
  const { child, told } = start(folder.path);
  const { pid, environment, capabilities, noNewPrivileges, filters, limits } = await told;
  child.kill('SIGKILL');
  assert.equal(pid, child.pid, 'it is the process that was started');
  assert.deepEqual(environment, ['SECRET']);
  // Only root may take from what programs could gain, and nothing can be gained here.
  const [permitted, effective, bounding, ...inherited] = capabilities;
  const own = process.getuid?.() === 0 ? [bounding] : [];
  assert.deepEqual(new Set([permitted, effective, ...own, ...inherited]), new Set(['0'.repeat(16)]));
  assert.deepEqual([noNewPrivileges, filters], ['1', '1']);
  assert.match(limits, /Max core file size +0 +0 /);
  assert.match(limits, /Max open files +1024 +1024 /);
  assert.match(limits, /Max file size +268435456 +268435456 /);
});

test('a program may have fewer files than its walls have rules', async () => {
  await using folder = await temporaryFolder();
  const names = Array.from({ length: 1100 }, (_, i) => join(folder.path, `${i}.txt`));
  for (const name of names) await writeFile(name, '');
  const { child, told } = start(folder.path, names);
  const first = await Promise.race([told, once(child, 'exit')]);
  child.kill('SIGKILL');
  assert.ok('limits' in first, 'it was started');
  assert.match(first.limits, /Max open files +1024 +1024 /);
});

/** Descriptors of a program that opens none but the folder that tells of them, started with three too many. */
async function descriptorsOf(scratch: string, pipes: number): Promise<number[]> {
  const own = nodeWalls(scratch);
  const walls = { ...own, execute: [...own.execute, '/usr/bin/ls', '/bin/ls'] };
  const launch = launchOf({ program: '/bin/ls', args: ['/proc/self/fd'], env: {} }, walls, kernel, pipes);
  assert.ok(launch);
  const stdio = ['ignore', 'pipe', 'inherit', 'pipe', 'pipe', 'pipe'] as const;
  const child = spawn(launch.program, launch.args, { env: launch.env, stdio: [...stdio] });
  assert.ok(child.stdout);
  const lines = (await text(child.stdout)).trim().split('\n');
  return lines.map(Number).slice(0, -1);
}

test('a program keeps its pipes, and nothing else that the activator was started with', async () => {
  await using folder = await temporaryFolder();
  assert.deepEqual(await descriptorsOf(folder.path, 1), [0, 1, 2, 3]);
  assert.deepEqual(await descriptorsOf(folder.path, 2), [0, 1, 2, 3, 4]);
});

test('it ends with what started it, also when that is killed', async () => {
  await using folder = await temporaryFolder();
  const starter = join(folder.path, 'starter.ts');
  const module = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  await writeFile(
    starter,
    `import { spawn } from 'node:child_process';
     import { launchOf } from ${module('./launch.ts')};
     const [walls, kernel] = JSON.parse(process.argv[2] ?? '');
     const program = { program: process.execPath, args: [${JSON.stringify(STILL_THERE)}], env: {} };
     const launch = launchOf(program, walls, kernel, 0);
     if (launch) spawn(launch.program, launch.args, { env: launch.env, stdio: ['ignore', 'inherit', 'inherit'] });`,
  );
  const own = nodeWalls(folder.path);
  const walls = { ...own, read: [...own.read, STILL_THERE, ...packagesAbove(STILL_THERE)] };
  const parent = spawn(process.execPath, [starter, JSON.stringify([walls, kernel])], {
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await parent.stdout.take(1).toArray()) as Buffer[];
  const { pid } = JSON.parse(String(line)) as Told;
  parent.kill('SIGKILL');
  await gone([pid]);
});

test('one whose parent has ended before it looks does not start', async () => {
  const echo = { ...nodeWalls('/nowhere'), execute: [...nodeFiles().execute, '/bin/echo'] };
  assert.equal((await run('/bin/echo', ['started'], echo)).stdout, 'started\n');
  const launch = launchOf({ program: '/bin/echo', args: ['started'], env: {} }, echo, kernel, 0);
  assert.ok(launch);
  const policy = { ...(JSON.parse(launch.env['KGRID_LAUNCH'] ?? '') as object), parent: 1 };
  const late = ['-i', `KGRID_LAUNCH=${JSON.stringify(policy)}`, launch.program, ...launch.args];
  assert.deepEqual(pick(await run('/usr/bin/env', late, undefined)), ['', 'SIGKILL']);
});

const pick = ({ stdout, signal }: { stdout: string; signal: string | null }): unknown => [stdout, signal];

test('signals that Node ignores are not ignored by what it becomes', async () => {
  const walls = { ...nodeWalls('/nowhere'), execute: [...nodeFiles().execute, '/usr/bin/grep', '/bin/grep'] };
  const { stdout } = await run('/bin/grep', ['SigIgn', '/proc/self/status'], walls);
  assert.match(stdout, /^SigIgn:\s+0+$/m);
});

test('what cannot be started says why', async () => {
  const { stderr, signal } = await run('/usr/bin/no-such-program', [], nodeWalls('/nowhere'));
  assert.equal(stderr, 'Error: its walls cannot be laid: /usr/bin/no-such-program: ENOENT\n');
  assert.equal(signal, 'SIGKILL');
  const outside = await run('/bin/sh', ['-c', 'true'], nodeWalls('/nowhere'));
  assert.match(outside.stderr, /^Error: its walls cannot be laid: \/bin\/sh: EACCES\n$/);
});

test(
  'root starts what lies in the folder of another user, and reads no more of theirs than that',
  { skip: process.getuid?.() !== 0 },
  async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, 'home');
    const made = await run(
      '/bin/sh',
      [
        '-c',
        `mkdir -m 700 ${home} && echo own > ${home}/own && echo other > ${home}/other && chmod 600 ${home}/* && chown -R 65534 ${home}`,
      ],
      undefined,
    );
    assert.equal(made.code, 0, made.stderr);
    const { execute, read } = nodeFiles();
    const own = nodeWalls(join(folder.path, 'scratch'));
    const cat = (file: string, readable: string[]): Promise<{ stdout: string }> =>
      run('/bin/cat', [join(home, file)], {
        ...own,
        write: [],
        execute: [...execute, '/usr/bin/cat', '/bin/cat'],
        read: [...read, ...own.read, ...readable],
      });
    assert.equal((await cat('own', [join(home, 'own')])).stdout, 'own\n');
    assert.equal((await cat('other', [join(home, 'own')])).stdout, '');
  },
);
