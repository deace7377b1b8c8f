/**
 * How far a run has come, in a file beside its output. It is written after what it tells of is on the disk, so that a run
 * which is killed at any moment goes on from there.
 */
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fieldsOf } from '../lib/fields.ts';
import { usageFailure } from '../lib/exit.ts';
import { explain } from './output.ts';
import type { Kept } from './output.ts';

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
export async function syncFolder(path: string): Promise<void> {
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

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
