/**
 * `node bench/process-starts.ts [pairs]`: from the start of a process to its first answer, behind walls and without, in
 * turns: milliseconds and processor time, medians. A javascript sandbox answers that it is ready, a worker its first call.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sandboxCommand, sandboxProgram } from '../src/engines/javascript/program.ts';
import { SandboxProcess } from '../src/engines/supervisor/process.ts';
import type { Command } from '../src/engines/supervisor/process.ts';
import { findKernel } from '../src/confinement/find-kernel.ts';
import { NO_WALLS } from '../src/confinement/walls.ts';
import type { Kernel } from '../src/confinement/walls.ts';
import { kinds } from '../src/engines/supervisor/messages.ts';
import { nodeWorkers } from '../src/engines/node/program.ts';
import { prepareProgram } from '../src/engines/node/program-files.ts';
import { findPython } from '../src/engines/python/find-python.ts';
import { pythonWorkers } from '../src/engines/python/program.ts';
import type { WorkerProgram } from '../src/engines/supervisor/adapter.ts';

const DEFAULT_PAIRS = 20;
const MB = 2 ** 20;
const CODES = {
  'index.mjs': 'export const run = (input) => input;\n',
  'main.py': 'def run(input):\n    return input\n',
};

interface Measured {
  readonly milliseconds: number;
  readonly processorMs: number;
}

function measure(command: Command, kernel: Kernel, endpoint?: object): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const answer = endpoint === undefined ? kinds.ping : kinds.answer;
    const child: SandboxProcess = new SandboxProcess(
      command,
      {
        onFrame(kind) {
          if (kind !== answer) return;
          resolve({ milliseconds: performance.now() - began, processorMs: child.processorTime() });
          child.kill();
        },
        mostOf: () => Infinity,
        onExit: (reason) => reject(new Error(reason)),
      },
      kernel,
    );
    if (endpoint === undefined) return;
    child.send(kinds.define, 0, 0, JSON.stringify(endpoint));
    child.send(kinds.call, 1, 1, '1');
  });
}

const folder = await mkdtemp(join(tmpdir(), 'kgrid-process-starts-'));
const scratch = join(folder, 'scratch');
await mkdir(scratch);
for (const [name, code] of Object.entries(CODES)) await writeFile(join(folder, name), code);
const files = await prepareProgram(folder);
const python = await findPython({ PATH: process.env['PATH'] ?? '' });
if (typeof python === 'string') throw new Error(python);
const limits = { memoryMb: 256, outputLimit: MB, environment: {} };
const home = { ko: 'a/b/c', root: folder, folders: [folder], scratch, processes: false };
const network = { ports: [], environment: {}, files: [] };
const startOf = (program: WorkerProgram): Command => program.command({ ...home, network });
const endpointIn = (name: keyof typeof CODES): object => ({
  ...{ file: join(folder, name), root: folder, function: 'run', entryFolder: '', installed: [], ownPackage: null },
});
const modules = sandboxProgram();
const measures: Readonly<Record<string, (kernel: Kernel) => Promise<Measured>>> = {
  'javascript sandbox': (kernel) => measure(sandboxCommand(modules, kernel), kernel),
  'node worker': (kernel) =>
    measure(startOf(nodeWorkers({ ...limits, files, permissions: true, kernel })), kernel, endpointIn('index.mjs')),
  'python worker': (kernel) =>
    measure(
      startOf(pythonWorkers({ ...limits, python, bodyLimit: MB, concurrency: 8 })),
      kernel,
      endpointIn('main.py'),
    ),
};

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN;
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

const pairs = Number(process.argv[2] ?? DEFAULT_PAIRS);
const walls = await findKernel('require');
process.stdout.write('| process | walls ms | off ms | difference ms | walls processor ms | off processor ms |\n');
process.stdout.write('| --- | ---: | ---: | ---: | ---: | ---: |\n');
for (const [name, run] of Object.entries(measures)) {
  const rows: (readonly [Measured, Measured])[] = [];
  // Once before, so that files are in memory.
  for (let i = -1; i < pairs; i++) {
    const [first, second] = i % 2 === 0 ? [walls, NO_WALLS] : [NO_WALLS, walls];
    const [one, other] = [await run(first), await run(second)];
    if (i >= 0) rows.push(first === walls ? [one, other] : [other, one]);
  }
  const all = (each: (row: readonly [Measured, Measured]) => number): number[] => rows.map(each);
  const cells = [
    median(all(([on]) => on.milliseconds)),
    median(all(([, off]) => off.milliseconds)),
    median(all(([on, off]) => on.milliseconds - off.milliseconds)),
    // In steps of 10 ms.
    mean(all(([on]) => on.processorMs)),
    mean(all(([, off]) => off.processorMs)),
  ];
  process.stdout.write(`| ${name} | ${cells.map((each) => each.toFixed(0)).join(' | ')} |\n`);
}
await rm(folder, { recursive: true, force: true, maxRetries: 5 });
