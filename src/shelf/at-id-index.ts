/** Where the knowledge objects stand whose `@id` is not their place: a word, or a URL. */
import { koKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { compareIds } from '../knowledge-object/id-order.ts';
import { plainAtId, threeParts } from '../knowledge-object/places.ts';
import type { ChangeLog } from './change-log.ts';
import type { ShelfEntry } from './shelf.ts';

type Changes = Pick<ChangeLog, 'revision' | 'since'>;

/** What a store needs to know of the entries that it holds. */
export interface Entries {
  find(id: KoId): ShelfEntry | undefined;
  list(): readonly ShelfEntry[];
}

/** Follows the changes of a shelf: a look-up costs what changed since the last one. */
export class AtIdIndex {
  readonly #entries: Entries;
  readonly #changes: Changes;
  readonly #places = new Map<string, Set<string>>();
  /** By place. */
  readonly #atIds = new Map<string, string>();
  readonly #ids = new Map<string, KoId>();
  #revision: number | undefined;

  constructor(entries: Entries, changes: Changes) {
    this.#entries = entries;
    this.#changes = changes;
  }

  /** The entries of an `@id` in any of its spellings, the oldest version first. */
  find(atId: string): readonly ShelfEntry[] {
    this.#follow();
    const plain = plainAtId(atId);
    const own = threeParts(plain);
    const atPlace = own === undefined ? undefined : this.#entries.find(own);
    const elsewhere = [...(this.#places.get(plain) ?? [])].map((key) => {
      const id = this.#ids.get(key);
      return id === undefined ? undefined : this.#entries.find(id);
    });
    return [atPlace?.atId === undefined ? atPlace : undefined, ...elsewhere]
      .filter((entry) => entry !== undefined)
      .sort((a, b) => compareIds(a.id, b.id));
  }

  #follow(): void {
    const { revision } = this.#changes;
    if (revision === this.#revision) return;
    const changed = this.#revision === undefined ? undefined : this.#changes.since(this.#revision);
    this.#revision = revision;
    for (const id of changed ?? []) this.#put(id, this.#entries.find(id)?.atId);
    if (changed !== undefined) return;
    this.#places.clear();
    this.#atIds.clear();
    this.#ids.clear();
    for (const { id, atId } of this.#entries.list()) this.#put(id, atId);
  }

  #put(id: KoId, atId: string | undefined): void {
    const key = koKey(id);
    const before = this.#atIds.get(key);
    if (before === atId) return;
    if (before !== undefined) {
      const places = this.#places.get(before);
      places?.delete(key);
      if (places?.size === 0) this.#places.delete(before);
    }
    if (atId === undefined) {
      this.#atIds.delete(key);
      this.#ids.delete(key);
      return;
    }
    this.#atIds.set(key, atId);
    this.#ids.set(key, id);
    this.#places.set(atId, (this.#places.get(atId) ?? new Set<string>()).add(key));
  }
}
