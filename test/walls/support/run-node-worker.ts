/**
 * Tries what comes by standard input in a process that is started exactly as a worker of the engine node is, past
 * Node's permission model: `node run-node-worker.ts <mode> <own>` prints a line for each result. A program of its own, since it
 * may be started as another user.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SandboxProcess } from '../../../src/engines/sandbox/sandbox-process.ts';
import type { Command } from '../../../src/engines/sandbox/sandbox-process.ts';
import { answers, kinds } from '../../../src/engines/workers/messages.ts';
import { nodeWorkers } from '../../../src/engines/workers/node/node-program.ts';
import { prepareProgram } from '../../../src/engines/workers/node/program-files.ts';
import type { Target } from './attempt.ts';
import { koffiPath } from './koffi.ts';
import { kernelOf } from './modes.ts';
import type { Mode } from './modes.ts';

const MOST_MILLISECONDS = 30_000;
const NO_NETWORK = { ports: [], environment: {}, files: [] };
const CODE = 'module.exports = (ways) => globalThis.attempt(ways);';

const kernel = await kernelOf(process.argv[2] as Mode);
const own = JSON.parse(process.argv[3] ?? '') as Target['own'];
const root = dirname(own.file);
const cache = await mkdtemp(join(tmpdir(), 'kgrid-walls-worker-'));
await writeFile(own.file, CODE);
const files = await prepareProgram(cache);
const program = nodeWorkers({
  files,
  memoryMb: 256,
  outputLimit: 1e6,
  permissions: true,
  environment: {},
});
const { args, walls, ...command } = program.command({
  ko: 'a/b/c',
  root,
  folders: [root],
  scratch: own.scratch,
  network: NO_NETWORK,
  processes: false,
});
const taken: Command = {
  ...command,
  ...(walls !== undefined && { walls: { ...walls, read: [...walls.read, import.meta.dirname, koffiPath] } }),
  args: [
    '--allow-addons',
    ...[import.meta.dirname, koffiPath].map((path) => `--allow-fs-read=${path}`),
    `--import=${new URL(`./in-node-worker.mjs?koffi=${encodeURIComponent(koffiPath)}`, import.meta.url).href}`,
    ...args,
  ],
};
const left = JSON.parse((await text(process.stdin)).replaceAll(own.program, files.main)) as Record<string, unknown>;
const names = Object.keys(left);

const print = (name: string, result: unknown): void => void process.stdout.write(`${JSON.stringify([name, result])}\n`);
let printed = '';
const ended = await new Promise<string>((resolve) => {
  const worker = new SandboxProcess(
    taken,
    {
      onFrame(kind, number, outcome, body) {
        if (kind !== kinds.answer) return;
        if (outcome !== answers.result) throw new Error(body);
        print(names[number - 1] ?? '', JSON.parse(body));
        next(number + 1);
      },
      mostOf: () => Infinity,
      onExit: resolve,
      onOutput: (_, stream) => void stream.on('data', (chunk: Buffer) => (printed += chunk.toString())),
    },
    kernel,
  );
  const next = (number: number): void => {
    const name = names[number - 1];
    if (name === undefined) return worker.kill();
    print(name, null);
    worker.send(kinds.call, number, 1, JSON.stringify(left[name]));
  };
  worker.send(kinds.endpoint, 0, 0, JSON.stringify({ file: own.file, root, function: 'index' }));
  next(1);
  setTimeout(() => worker.kill(), MOST_MILLISECONDS).unref();
});
if (!/SIG(KILL|SYS)/.test(ended)) process.stderr.write(`The worker ended: ${ended} ${printed}\n`);
await rm(cache, { recursive: true });
