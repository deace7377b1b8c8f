/** Each attempt is seen to succeed without the walls, by the same program. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { before, test } from 'node:test';
import { kernel, nodeWalls, run, temporaryFolder, withLandlock } from '../../test/support/confinement/behind-walls.ts';
import { packagesAbove } from './needed-files.ts';
import { systemCalls } from './system-calls.ts';
import type { Kernel, Walls } from './walls.ts';

const ATTEMPTS = fileURLToPath(new URL('../../test/support/confinement/attempts.js', import.meta.url));
/** What only root may do elsewhere too. */
const OF_ROOT = [
  'load a program into the kernel',
  'measure the kernel',
  'handle faults of memory',
  'mount',
  'unmount',
  'open a tree of mounts',
  'make a file system',
  'change its root',
  'enter a namespace',
  'load a kernel',
  'load a module',
  'start anew',
  'swap memory',
  'watch a file system',
  'open a file by its handle',
  'make a raw socket',
  'make a socket of packets',
];
/** What the kernel of this machine may not have. */
const RARE = ['load a kernel', 'load a module', 'use io_uring', 'leave its session'];

const NOBODY = 65_534;

type Outcomes = Readonly<Record<string, string>>;

const listen = async (where: object): Promise<AddressInfo> => {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  await new Promise<void>((resolve) => server.listen(where, resolve));
  return server.address() as AddressInfo;
};

async function attempt(
  walls: ((scratch: string) => Walls) | undefined,
  on: Kernel = kernel,
  only?: string[],
  uid?: number,
): Promise<Outcomes> {
  await using folder = await temporaryFolder();
  const [outside, scratch] = [join(folder.path, 'outside'), join(folder.path, 'scratch')];
  await mkdir(outside);
  await mkdir(scratch);
  if (uid !== undefined) for (const path of [folder.path, outside, scratch]) await chown(path, uid, uid);
  const files = {
    secret: join(outside, 'secret'),
    removed: join(outside, 'removed'),
    renamed: join(outside, 'renamed'),
  };
  for (const file of Object.values(files)) {
    await writeFile(file, 'text');
    if (uid !== undefined) await chown(file, uid, uid);
  }
  const { port } = await listen({ port: 0, host: '127.0.0.1' });
  const [socket, abstract] = [join(outside, 'socket'), `\0kgrid-${folder.path}`];
  await listen({ path: socket });
  await listen({ path: abstract });
  const calls = Object.fromEntries(systemCalls(process.arch) ?? []);
  const given = { ...files, outside, scratch, port, socket, abstract, koffi: kernel.koffi, calls, only };
  const own = walls?.(scratch);
  const readable = own && { ...own, read: [...own.read, ATTEMPTS, ...packagesAbove(ATTEMPTS), kernel.koffi ?? ''] };
  const said = await run(process.execPath, [ATTEMPTS, JSON.stringify(given)], readable, on, uid);
  assert.equal(said.code, 0, JSON.stringify(said));
  return JSON.parse(said.stdout) as Outcomes;
}

let without: Outcomes = {};
before(async () => {
  without = await attempt(undefined, undefined);
});

const done = (outcomes: Outcomes): string[] =>
  Object.entries(outcomes)
    .filter(([, outcome]) => outcome === 'done')
    .map(([name]) => name);

test('without walls all of it can be done', () => {
  const excused = [...RARE, ...(process.getuid?.() === 0 ? [] : OF_ROOT)];
  const refused = Object.entries(without).filter(([name, outcome]) => outcome !== 'done' && !excused.includes(name));
  assert.deepEqual(refused, []);
});

test('a worker behind walls can do nothing of it', async () => {
  const outcomes = await attempt(nodeWalls);
  assert.deepEqual(done(outcomes), []);
  assert.equal(Object.keys(outcomes).length, Object.keys(without).length);
});

test('an older Landlock keeps the same of a worker that has no network and makes no processes', async () => {
  for (const abi of [5, 3, 2, 1]) assert.deepEqual(done(await attempt(nodeWalls, withLandlock(abi))), [], `ABI ${abi}`);
});

test('without Landlock the filter of system calls keeps all but files', async () => {
  // Nothing of a parent with capabilities can be read.
  const outcomes = done(await attempt(nodeWalls, withLandlock(0))).filter((name) => !name.endsWith('another process'));
  assert.deepEqual(outcomes.sort(), [
    'link a file of others into its own folder',
    'list a folder of others',
    'list processes',
    'read a file of others',
    'read through a link of its own',
    'read through its own root',
    'remove a file of others',
    'rename a file of others',
    'shorten a file of others',
    'write a file elsewhere',
    'write into a file of others',
  ]);
});

test('without seccomp Landlock keeps files, signals and TCP', async () => {
  const outcomes = await attempt(nodeWalls, { ...kernel, seccomp: false });
  const kept = [
    ...['read a file of others', 'list a folder of others', 'write a file elsewhere', 'write into a file of others'],
    ...['remove a file of others', 'rename a file of others', 'link a file of others into its own folder'],
    ...['read through a link of its own', 'read through its own root', 'shorten a file of others', 'list processes'],
    ...['read the environment of another process', 'read the memory of another process', 'run a program'],
    ...['signal another process', 'listen to TCP', 'connect by TCP', 'connect to an abstract socket'],
    'listen to a unix socket',
  ];
  assert.deepEqual(
    kept.filter((name) => outcomes[name] === 'done'),
    [],
  );
});

test('who may connect to a port connects to that one, and who may make processes runs programs', async () => {
  const only = [
    'connect by TCP',
    'run a program',
    'signal another process',
    'listen to TCP',
    'connect to a unix socket',
  ];
  const anyPort = (scratch: string): Walls => ({ ...nodeWalls(scratch), connect: 'any' });
  assert.deepEqual(done(await attempt(anyPort, kernel, only)), ['connect by TCP']);
  const otherPort = (scratch: string): Walls => nodeWalls(scratch, { ports: [1] });
  assert.deepEqual(done(await attempt(otherPort, kernel, only)), []);
  const processes = (scratch: string): Walls => nodeWalls(scratch, { processes: true });
  assert.deepEqual(done(await attempt(processes, kernel, only)), ['run a program']);
});

/** Root becomes another user, who then has to get at Node and at the project; whoever is another user was tried above. */
async function canBecomeAnother(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const looked = spawn(process.execPath, [ATTEMPTS], { uid: NOBODY, stdio: 'ignore' });
  return new Promise((resolve) => looked.on('error', () => resolve(false)).on('exit', () => resolve(true)));
}

test('as another user than root they hold too', { skip: !(await canBecomeAnother()) }, async () => {
  assert.deepEqual(done(await attempt(nodeWalls, kernel, undefined, NOBODY)), []);
});
