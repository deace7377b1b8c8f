/**
 * Runs all tests but those of the slow rings, which have scripts of their own; with `--python` those in Python
 * beside them. Files that are named are run alone; `--times` tells the processor time of each.
 */
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { FileRuns, runOfFile } from './support/run-files.ts';
import { SharedProcesses } from './support/shared-processes.ts';
import { testFiles } from './support/test-files.ts';

const PROJECT = resolve(import.meta.dirname, '..');
/** Files at a time on each core: most of them wait for services and browsers more than half of their time. With two, a quarter of the cores had nothing to do. */
const FILES_PER_CORE = 3;
/** More of them than that would need much memory at a time. */
const MOST_CORES = 4;
/** Most processes of tests are short, and much of that is the collection of garbage that their end would save. */
const FEWER_COLLECTIONS = ['--min-semi-space-size=16'];

process.env['NODE_COMPILE_CACHE'] ??= join(PROJECT, 'node_modules/.cache/compiled');

/** Folders with tests in Python: one after the other, since both make the environment that they need. */
const OF_PYTHON = ['runtimes/python', 'clients/python'].map((folder) => ({
  name: folder,
  program: 'sh',
  args: [join(PROJECT, folder, 'run-tests.sh')],
  limitMs: 40 * 60_000,
}));

const runs = new FileRuns(PROJECT, (text) => void process.stdout.write(text));
const named = process.argv.slice(2).filter((each) => !each.startsWith('--'));
using shared = new SharedProcesses(named.length > 0 ? [] : testFiles(PROJECT), PROJECT);
const files = named.length > 0 ? named.map((each) => resolve(each)) : shared.files;
const concurrency = Math.min(availableParallelism(), MOST_CORES) * FILES_PER_CORE;
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void runs.end(signal));
await Promise.all([
  process.argv.includes('--python') ? runs.run(OF_PYTHON, 1) : undefined,
  runs.run(
    files.map((file) => runOfFile(file, PROJECT, FEWER_COLLECTIONS)),
    concurrency,
  ),
]);
if (process.argv.includes('--times')) process.stdout.write(runs.times());
process.stdout.write(runs.summary());
if (!runs.passed) process.exitCode = 1;
