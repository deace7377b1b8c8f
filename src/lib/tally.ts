/** Counts what happens, by a word for each kind of it. */
export class Tally<K extends string = string> {
  readonly #counts = new Map<K, number>();

  /** `words`: those that are there from the beginning, with 0. */
  constructor(words: readonly K[] = []) {
    for (const word of words) this.#counts.set(word, 0);
  }

  add(word: K, by = 1): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + by);
  }

  of(word: K): number {
    return this.#counts.get(word) ?? 0;
  }

  [Symbol.iterator](): IterableIterator<[K, number]> {
    return this.#counts.entries();
  }
}
