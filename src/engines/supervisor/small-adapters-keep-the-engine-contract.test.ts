/** An engine needs no more than a program and an adapter: with frames by a socket, and by standard input and output. */
import { dirname, join } from 'node:path';
import { engineConformance } from '../../../test/conformance/engine.ts';
import { managedWorkers } from '../../../test/conformance/workers-host.ts';
import { findKernel } from '../../confinement/find-kernel.ts';
import { workerWalls } from '../node/confinement.ts';
import { workerWalls as pythonWalls } from '../python/confinement.ts';
import { findPython } from '../python/program.ts';
import type { Adapter, WorkerHome } from './adapter.ts';
import type { Command } from './process.ts';

const PROGRAM = join(import.meta.dirname, '../../../test/support/supervisor/small-program');
const OWN = [
  import.meta.dirname,
  dirname(PROGRAM),
  join(import.meta.dirname, '../../lib'),
  join(import.meta.dirname, '../../../package.json'),
];
const python = await findPython({ PATH: process.env['PATH'] ?? '' });
if (typeof python === 'string') throw new Error(python);
const kernel = await findKernel('require');

const COMMANDS: Readonly<Record<string, (home: WorkerHome, outputLimit: number) => Command>> = {
  'by socket': (home, outputLimit) => ({
    program: process.execPath,
    args: [`${PROGRAM}.ts`, String(outputLimit)],
    env: {},
    input: '',
    cwd: home.root,
    isWorker: true,
    walls: workerWalls(OWN, home),
  }),
  'by standard input and output': (home, outputLimit) => ({
    program: python.program,
    args: ['-I', '-S', '-B', '-X', 'utf8', `${PROGRAM}.py`, String(outputLimit)],
    env: {},
    input: '',
    frames: 'stdio',
    cwd: home.root,
    isWorker: true,
    walls: pythonWalls(python, dirname(PROGRAM), home),
  }),
};

const adapterOf = (command: (home: WorkerHome, outputLimit: number) => Command): Adapter => ({
  callsAtOnce: 1,
  leastMemoryMb: 128,
  absence: () => Promise.resolve(undefined),
  open: ({ memoryMb, outputLimit }) =>
    Promise.resolve({
      program: {
        ...{ engine: 'small', memoryMb, besideMemoryMb: 150, checksJson: true },
        command: (home) => command(home, outputLimit),
      },
    }),
});

const doing = (what: string) => ({ files: { 'rules.json': JSON.stringify({ run: what }) }, function: 'run' });

for (const [how, command] of Object.entries(COMMANDS))
  engineConformance(
    `small, ${how},`,
    {
      echo: doing('echo'),
      broken: [{ files: { 'rules.json': '{"run": "echo"' }, function: 'run', at: /rules\.json is not JSON/ }],
      endless: { ...doing('stay'), timeout: 3000 },
      failing: { ...doing('nonsense'), says: /rules\.json says nonsense/ },
    },
    () => managedWorkers('small', { kernel }, adapterOf(command)),
  );
