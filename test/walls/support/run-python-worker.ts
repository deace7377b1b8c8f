/**
 * Tries what comes by standard input in a process that is started exactly as a worker of the engine python is:
 * `node run-python-worker.ts <mode> <own>` prints a line for each result. A program of its own, since it may be started
 * as another user.
 */
import { copyFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findPython, PYTHON_PROGRAMS, pythonWorkers } from '../../../src/engines/python/program.ts';
import type { Target } from './attempt.ts';
import { kernelOf } from './modes.ts';
import type { Mode } from './modes.ts';
import { runInWorker } from './run-in-worker.ts';

const MB = 2 ** 20;
const CODE = 'from attempt import attempt\n\ndef run(ways):\n    return attempt(ways)\n';

const own = JSON.parse(process.argv[3] ?? '') as Target['own'];
const root = dirname(own.file);
await writeFile(own.file, CODE);
await copyFile(new URL('./attempt.py', import.meta.url), join(root, 'attempt.py'));
const python = await findPython({ PATH: process.env['PATH'] ?? '' });
if (typeof python === 'string') throw new Error(python);
const program = pythonWorkers({
  python,
  memoryMb: 256,
  outputLimit: MB,
  bodyLimit: MB,
  concurrency: 8,
  environment: {},
});
const network = { ports: [], environment: {}, files: [] };
await runInWorker({
  command: program.command({ ko: 'a/b/c', root, folders: [root], scratch: own.scratch, network, processes: false }),
  kernel: await kernelOf(process.argv[2] as Mode),
  endpoint: { file: own.file, root, function: 'run', entryFolder: '', installed: [], ownPackage: null },
  rename: [own.program, join(PYTHON_PROGRAMS, 'kgrid_python_runtime/worker/main.py')],
});
