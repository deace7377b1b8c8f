/**
 * Runs all tests but those of the slow rings, which have scripts of their own; with `--python` those in Python
 * beside them. Files that are named are run alone; `--times` tells the processor time of each.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { filesPass } from './support/run-files.ts';
import { LIST, timesTable } from './support/processor-time.ts';
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

/** Folders with tests in Python. */
const OF_PYTHON = ['runtimes/python', 'clients/python'];

interface Outcome {
  readonly passed: boolean;
  readonly printed: string;
}

/** What the tests in Python print, and whether they passed: one folder after the other, since both make what they need. */
async function pythonTests(): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  for (const folder of OF_PYTHON) outcomes.push(await pythonTestsOf(folder));
  return {
    passed: outcomes.every(({ passed }) => passed),
    printed: outcomes.map(({ printed }, i) => `\n${OF_PYTHON[i]}:\n${printed}`).join(''),
  };
}

async function pythonTestsOf(folder: string): Promise<Outcome> {
  const child = spawn('sh', [join(PROJECT, folder, 'run-tests.sh')], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { passed: child.exitCode === 0, printed: `${out}${err}` };
}

const python = process.argv.includes('--python') ? pythonTests() : undefined;
const named = process.argv.slice(2).filter((each) => !each.startsWith('--'));
using shared = new SharedProcesses(named.length > 0 ? [] : testFiles(PROJECT), PROJECT);
const files = named.length > 0 ? named.map((each) => resolve(each)) : shared.files;
const times = process.argv.includes('--times') ? join(mkdtempSync(join(tmpdir(), 'kgrid-times-')), 'list') : undefined;
if (times !== undefined) process.env[LIST] = times;
const measuring = times === undefined ? [] : ['--import', join(PROJECT, 'test/support/processor-time.ts')];
const concurrency = Math.min(availableParallelism(), MOST_CORES) * FILES_PER_CORE;
const execArgv = [...FEWER_COLLECTIONS, ...measuring];
if (!(await filesPass(files, { cwd: PROJECT, concurrency, execArgv }))) process.exitCode = 1;
if (python !== undefined) {
  const { passed, printed: said } = await python;
  process.stdout.write(said);
  if (!passed) process.exitCode = 1;
}
if (times !== undefined) process.stdout.write(`\n${timesTable(readFileSync(times, 'utf8'))}`);
