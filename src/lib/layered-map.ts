/** A map that never changes: a changed one is made from it at the cost of what is changed. */

/** With so many changes over a base, a new base is made. */
const MAX_CHANGES = 256;

export class LayeredMap<V> {
  readonly #base: ReadonlyMap<string, V>;
  /** What is other than in the base; `undefined` stands for what is gone. */
  readonly #changes: ReadonlyMap<string, V | undefined>;

  private constructor(base: ReadonlyMap<string, V>, changes: ReadonlyMap<string, V | undefined>) {
    this.#base = base;
    this.#changes = changes;
  }

  static of<V>(entries: Iterable<readonly [string, V]>): LayeredMap<V> {
    return new LayeredMap<V>(new Map(entries), new Map());
  }

  get(key: string): V | undefined {
    const changed = this.#changes.get(key);
    if (changed !== undefined) return changed;
    return this.#changes.has(key) ? undefined : this.#base.get(key);
  }

  /** The map with these entries; `undefined` takes one out. */
  with(entries: Iterable<readonly [string, V | undefined]>): LayeredMap<V> {
    const changes = new Map(this.#changes);
    for (const [key, value] of entries) changes.set(key, value);
    if (changes.size <= MAX_CHANGES) return new LayeredMap(this.#base, changes);
    const base = new Map(this.#base);
    for (const [key, value] of changes) {
      if (value === undefined) base.delete(key);
      else base.set(key, value);
    }
    return new LayeredMap<V>(base, new Map());
  }
}
