/** What lies on the shelf, and whether it can be read: looked at once a second at most, however often it is asked for. */
import { setTimeout as wait } from 'node:timers/promises';
import { uptime } from '../lib/uptime.ts';
import type { Shelf } from '../shelf/shelf.ts';

/** Milliseconds for which a look counts, … */
const FRESH_MS = 1000;
/** … and after which a shelf that says nothing cannot be read. */
const LONGEST_WAIT_MS = 2000;

export interface ShelfFigures {
  /** Undefined where it was never known. */
  readonly kos: number | undefined;
  readonly isReadable: boolean;
}

export class ShelfReader {
  readonly #shelf: Pick<Shelf, 'check' | 'revision' | 'list'>;
  readonly #longestWaitMs: number;
  #counted: { readonly revision: number; readonly kos: number } | undefined;
  #look: { readonly began: number; readonly figures: Promise<ShelfFigures> } | undefined;
  #isLooking = false;

  constructor(shelf: Pick<Shelf, 'check' | 'revision' | 'list'>, longestWaitMs = LONGEST_WAIT_MS) {
    this.#shelf = shelf;
    this.#longestWaitMs = longestWaitMs;
  }

  /** Never rejects, and waits for no disk that does not answer. */
  async figures(): Promise<ShelfFigures> {
    const began = uptime();
    if (!this.#isLooking && (this.#look === undefined || began - this.#look.began >= FRESH_MS))
      this.#look = { began, figures: this.#read() };
    const late = new AbortController();
    const unread = { kos: this.#counted?.kos, isReadable: false };
    const left = Math.max(0, (this.#look?.began ?? began) + this.#longestWaitMs - began);
    try {
      return await Promise.race([this.#look?.figures ?? unread, wait(left, unread, { signal: late.signal })]);
    } finally {
      late.abort();
    }
  }

  async #read(): Promise<ShelfFigures> {
    this.#isLooking = true;
    try {
      await this.#shelf.check();
      const revision = await this.#shelf.revision();
      // A list of ten thousand is made only after a change.
      if (this.#counted?.revision !== revision) this.#counted = { revision, kos: (await this.#shelf.list()).length };
      return { kos: this.#counted.kos, isReadable: true };
    } catch {
      return { kos: this.#counted?.kos, isReadable: false };
    } finally {
      this.#isLooking = false;
    }
  }
}
