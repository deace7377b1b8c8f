import { setImmediate } from 'node:timers/promises';

/** Work of one key. */
interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

export interface FairQueueOptions {
  /** Pieces of work that run at a time, of all keys together. */
  readonly limit?: number;
  /** The same of one key; with 1, its work runs one after another. */
  readonly perKey?: number;
}

/**
 * Runs work within its limits. The work of a key begins in the order in which it came; keys that wait take turns, so that
 * one with much work holds up no other.
 */
export class FairQueue {
  readonly #limit: number;
  readonly #perKey: number;
  readonly #lines = new Map<string, Line>();
  /** Those whose next work may begin as soon as there is room: the first one goes first. */
  readonly #ready = new Set<Line>();
  #running = 0;
  #whenIdle: (() => void)[] = [];

  constructor({ limit = Infinity, perKey = Infinity }: FairQueueOptions) {
    this.#limit = limit;
    this.#perKey = perKey;
  }

  /** Gives what the work gives, and fails as it fails. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    let line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, (line = { running: 0, waiting: [] }));
    const { waiting } = line;
    // Who has to wait for nobody begins at once.
    if (waiting.length === 0 && line.running < this.#perKey && this.#running < this.#limit) {
      this.#running++;
      line.running++;
    } else {
      const begun = new Promise<void>((begin) => waiting.push(begin));
      this.#next(line);
      await begun;
    }
    try {
      return await work();
    } finally {
      this.#running--;
      line.running--;
      if (line.running === 0 && waiting.length === 0) this.#lines.delete(key);
      this.#next(line);
      if (this.#lines.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    }
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.#lines.size > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Begins what may begin, since this line has more work or more room. */
  #next(line: Line): void {
    if (line.waiting.length > 0 && line.running < this.#perKey) this.#ready.add(line);
    while (this.#running < this.#limit) {
      const [first] = this.#ready;
      if (first === undefined) return;
      this.#ready.delete(first);
      const begin = first.waiting.shift();
      if (begin === undefined) continue;
      this.#running++;
      first.running++;
      if (first.waiting.length > 0 && first.running < this.#perKey) this.#ready.add(first);
      begin();
    }
  }
}

/** Maps in parallel, at most `most` at a time; the results keep the order of the items. */
export async function mapBounded<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array<R>(items.length);
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of waiting) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}

const ITEMS_PER_TURN = 100;

/** The items, with a turn for everybody else after each hundred. */
export async function* inTurns<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < items.length; at += ITEMS_PER_TURN) {
    if (at > 0) await setImmediate();
    yield items.slice(at, at + ITEMS_PER_TURN);
  }
}
