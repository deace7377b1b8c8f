/** Folders in which code of packages may have written: what they hold is counted, and copied to where that code cannot write. */
import { setTimeout } from 'node:timers/promises';
import { LimitedThread } from '../../../lib/limited-thread.ts';
import { activationFailed } from './errors.ts';
import type { InstallLimits } from './install-runs.ts';
import type { TreeAnswer, TreeJob } from './tree-thread.ts';

const MEMORY_MB = 256;
const IDLE_MS = 60_000;
/** Between two looks at a folder in which something writes; more where a look takes long. */
const LOOK_MS = 250;
const SHARE_OF_LOOKS = 4;

export class Trees implements AsyncDisposable {
  readonly #thread: LimitedThread<TreeJob, TreeAnswer>;
  readonly #limits: InstallLimits;

  constructor(limits: InstallLimits, timeout: number) {
    this.#limits = limits;
    const thread = new URL('./tree-thread.ts', import.meta.url);
    this.#thread = new LimitedThread(thread, { timeout, memory: MEMORY_MB, idle: IDLE_MS });
  }

  /**
   * Copies regular files, folders, and links that stay inside, to a folder that it makes.
   * @throws ActivationFailure that names the package which has something else, or too much.
   */
  async copy(from: string, to: string): Promise<void> {
    const { problem } = await this.#thread.run({ from, to, limits: this.#limits });
    if (problem !== undefined) throw activationFailed(problem);
  }

  /** Says what is wrong with the folder, where it holds too much. */
  async problemOf(folder: string): Promise<string | undefined> {
    return (await this.#thread.run({ from: folder, limits: this.#limits })).problem;
  }

  /** Counts what is in the folder again and again, until it is stopped. `onTooMuch` hears of it once. */
  watch(folder: string, onTooMuch: (problem: string) => void): { stop(): Promise<void> } {
    const stopping = new AbortController();
    const { signal } = stopping;
    const look = async (): Promise<void> => {
      while (!signal.aborted) {
        const began = performance.now();
        const problem = await this.problemOf(folder);
        if (problem !== undefined) return onTooMuch(problem);
        const pause = Math.max(LOOK_MS, SHARE_OF_LOOKS * (performance.now() - began));
        await setTimeout(pause, undefined, { signal }).catch(() => undefined);
      }
    };
    const looking = look().catch(() => onTooMuch('Its packages could not be counted'));
    return {
      stop: () => {
        stopping.abort();
        return looking;
      },
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#thread[Symbol.asyncDispose]();
  }
}
