/** The files of a run: its output, and a folder beside that for what it is until it is whole. */
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { lockFolder } from '../../src/shelf/store/folder-lock.ts';
import { usageFailure } from '../lib/exit.ts';
import { START, syncFolder } from './journal.ts';
import type { Journal, RunState } from './journal.ts';
import { explain } from './output.ts';

export interface RunFiles {
  readonly output: string;
  readonly failures: string;
  /** There while the run is not whole. */
  readonly folder: string;
  /** Becomes the output. */
  readonly results: string;
  readonly journal: string;
}

export interface BeginOptions {
  readonly resume: boolean;
  readonly force: boolean;
}

export function filesOf(output: string, failures = `${output}.failed.ndjson`): RunFiles {
  const folder = `${output}.run`;
  return { output, failures, folder, results: join(folder, 'results'), journal: join(folder, 'progress.json') };
}

/** @throws CommandFailure where something would be overwritten unasked. Says whether all is done already. */
export async function checkFiles(files: RunFiles, { resume, force }: BeginOptions): Promise<'begin' | 'done'> {
  if (force) return 'begin';
  const isBegun = await exists(files.journal);
  if (resume) return !isBegun && (await exists(files.output)) ? 'done' : 'begin';
  if (isBegun) throw usageFailure(`${files.output} was begun before: say --resume to go on, or --force to begin again`);
  for (const path of [files.output, files.failures]) {
    if (await exists(path))
      throw usageFailure(`${path} is there already: choose another name, or say --force to write over it`);
  }
  return 'begin';
}

/** Keeps other runs away from the same output, until it is disposed of or the process ends. @throws CommandFailure. */
export async function ownFiles({ folder, output }: RunFiles): Promise<Disposable> {
  try {
    await mkdir(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw explain(thrown, folder);
  }
  const lock = lockFolder(folder);
  if (lock === 'taken')
    throw usageFailure(`Another run writes ${output} at the moment: wait until it has ended, or choose another name`);
  return { [Symbol.dispose]: () => (lock === 'unavailable' ? undefined : lock.release()) };
}

/** Where the run goes on. @throws CommandFailure where it cannot. */
export async function beginAt(journal: Journal, files: RunFiles, { resume }: BeginOptions): Promise<RunState> {
  const found = resume ? await journal.read() : undefined;
  if (found !== undefined) return found;
  await rm(files.journal, { force: true });
  await rm(files.results, { force: true });
  await journal.write(START);
  return START;
}

/** Gives a whole output its name; what only served the run goes. */
export async function publish(files: RunFiles, journal: Journal, state: RunState): Promise<void> {
  await journal.write({ ...state, isWhole: true });
  await tidy(files, state);
}

/** The last steps, of which each may have been done already. */
export async function tidy(files: RunFiles, { failed }: RunState): Promise<void> {
  if (await exists(files.results)) await rename(files.results, files.output);
  if (failed === 0) await rm(files.failures, { force: true });
  await syncFolder(dirname(files.output));
  await rm(files.journal, { force: true });
  await rm(files.folder, { recursive: true, force: true });
}

/** Leaves nothing of a run that did nothing. */
export async function forget({ folder, failures }: RunFiles): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await rm(failures, { force: true });
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
