/** The files of a run: its output, and a folder beside that for what it is until it is whole. */
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fieldsOf, jsonOr } from '../../src/lib/json.ts';
import { lockFolder } from '../../src/shelf/store/owner-lock.ts';
import { usageFailure } from '../lib/exit.ts';
import { explain, type Kept } from './output.ts';

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

// How far a run has come, in a file beside its output. It is written after what it tells of is on the disk, so that a run
// which is killed at any moment goes on from there.

/** What decides on every byte of the output: a run goes on only where none of it has changed. */
export type RunPlan = Readonly<Record<string, string | number | boolean | null>>;

export interface RunState extends Kept {
  /** Records of the input that have their place in the output or among the failures. */
  readonly records: number;
  readonly failed: number;
  /** Bytes. */
  readonly failures: number;
  /** Fields of results for which there is no column. */
  readonly lost: readonly string[];
  /** Nothing is left to do but to give the output its name. */
  readonly isWhole: boolean;
}

export const START: RunState = { records: 0, failed: 0, parts: 0, output: 0, failures: 0, lost: [], isWhole: false };

const FORMAT = 1;

export class Journal {
  readonly path: string;
  readonly #plan: RunPlan;

  constructor(path: string, plan: RunPlan) {
    this.path = path;
    this.#plan = plan;
  }

  /** Undefined where there is none. @throws CommandFailure where it is of another run. */
  async read(): Promise<RunState | undefined> {
    let text: string;
    try {
      text = await readFile(this.path, 'utf8');
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw thrown;
    }
    const { format, plan, state } = fieldsOf(jsonOr(text));
    const { records, failed, parts, output, failures, lost, isWhole } = fieldsOf(state);
    if (
      format !== FORMAT ||
      ![records, failed, parts, output, failures].every((each) => Number.isSafeInteger(each)) ||
      !Array.isArray(lost)
    )
      throw usageFailure(`${this.path} does not tell how far a run came: say --force to begin again`);
    const before = fieldsOf(plan);
    const changed = Object.keys(this.#plan).filter((key) => before[key] !== this.#plan[key]);
    if (changed.length > 0) throw usageFailure(differs(changed, before, this.#plan));
    return {
      records: Number(records),
      failed: Number(failed),
      parts: Number(parts),
      output: Number(output),
      failures: Number(failures),
      lost: lost.map(String),
      isWhole: isWhole === true,
    };
  }

  async write(state: RunState): Promise<void> {
    const next = `${this.path}.new`;
    try {
      await using file = await open(next, 'w');
      await file.writeFile(`${JSON.stringify({ format: FORMAT, plan: this.#plan, state })}\n`);
      await file.sync();
    } catch (thrown) {
      throw explain(thrown, next);
    }
    await rename(next, this.path);
    await syncFolder(dirname(this.path));
  }
}

/** What was created, renamed or removed in it stays so. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

function differs(
  changed: readonly string[],
  before: RunPlan | Readonly<Record<string, unknown>>,
  now: RunPlan,
): string {
  const [first = ''] = changed;
  const what = changed.map((key) => `${key} was ${String(before[key])}, and is ${String(now[key])}`);
  return `It cannot go on where the run before ended, since another ${first} gives other results: ${what.join('; ')}. Bring back what was there, or say --force to begin again`;
}
