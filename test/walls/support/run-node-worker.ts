/**
 * Tries what comes by standard input in a process that is started exactly as a worker of the engine node is, past
 * Node's permission model: `node run-node-worker.ts <mode> <own>` prints a line for each result. A program of its own, since it
 * may be started as another user.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { nodeWorkers, prepareProgram } from '../../../src/engines/node/program.ts';
import type { Target } from './attempt.ts';
import { koffiPath } from './koffi.ts';
import { kernelOf } from './modes.ts';
import type { Mode } from './modes.ts';
import { runInWorker } from './run-in-worker.ts';

const CODE = 'module.exports = (ways) => globalThis.attempt(ways);';

const own = JSON.parse(process.argv[3] ?? '') as Target['own'];
const root = dirname(own.file);
const cache = await mkdtemp(join(tmpdir(), 'kgrid-walls-worker-'));
await writeFile(own.file, CODE);
const files = await prepareProgram(cache);
const kernel = await kernelOf(process.argv[2] as Mode);
const program = nodeWorkers({
  files,
  kernel,
  memoryMb: 256,
  outputLimit: 1e6,
  permissions: true,
  environment: {},
});
const network = { ports: [], environment: {}, files: [] };
const { args, walls, ...command } = program.command({
  ko: 'a/b/c',
  root,
  folders: [root],
  scratch: own.scratch,
  network,
  processes: false,
});
const needed = [import.meta.dirname, koffiPath];
const taker = new URL(`./in-node-worker.mjs?koffi=${encodeURIComponent(koffiPath)}`, import.meta.url).href;
await runInWorker({
  command: {
    ...command,
    ...(walls !== undefined && { walls: { ...walls, read: [...walls.read, ...needed] } }),
    args: ['--allow-addons', ...needed.map((path) => `--allow-fs-read=${path}`), `--import=${taker}`, ...args],
  },
  kernel,
  endpoint: { file: own.file, root, function: 'index' },
  rename: [own.program, files.main],
});
await rm(cache, { recursive: true });
