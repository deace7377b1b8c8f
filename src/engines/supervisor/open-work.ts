/** What a worker is at: few pieces of work, by number, in the order they were sent. */
import type { WorkerWork } from './worker-call.ts';

export interface Open {
  readonly number: number;
  readonly work: WorkerWork;
  /** Questions of its code that have no answer yet. */
  questions: number;
  readonly batch: Batch | undefined;
}

/** Calls that were written together and are not answered yet. */
export interface Batch {
  calls: number;
  isRecent: boolean;
}

/** No `Map`: the tables of one that is used like this keep each other in memory, with all that was in them, until all of it is collected. */
export class OpenWork {
  readonly #all: Open[] = [];

  get size(): number {
    return this.#all.length;
  }

  get(number: number): Open | undefined {
    for (const open of this.#all) if (open.number === number) return open;
    return undefined;
  }

  add(open: Open): void {
    this.#all.push(open);
  }

  delete(open: Open): void {
    const at = this.#all.indexOf(open);
    if (at === 0) this.#all.shift();
    else if (at > 0) this.#all.splice(at, 1);
  }

  clear(): void {
    this.#all.length = 0;
  }

  [Symbol.iterator](): IterableIterator<Open> {
    return this.#all[Symbol.iterator]();
  }
}
