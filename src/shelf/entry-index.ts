/** What a shelf has, in order and by `@id`: each look-up costs what changed since the last one. */
import type { KoId } from '../knowledge-object/id.ts';
import { compareIds, compareNames } from '../knowledge-object/id-order.ts';
import { firstWhere } from '../lib/first-where.ts';
import { AtIdIndex } from './at-id-index.ts';
import type { ChangeLog } from './change-log.ts';
import type { ListRange, ShelfEntry } from './shelf.ts';

/** With more changes than this it is quicker to sort all anew. */
const MOST_PLACED = 64;

/** What a store knows of its entries. */
export interface KnownEntries {
  find(id: KoId): ShelfEntry | undefined;
  /** In any order. */
  all(): Iterable<ShelfEntry>;
}

export class EntryIndex {
  readonly #entries: KnownEntries;
  readonly #changes: Pick<ChangeLog, 'revision' | 'since'>;
  readonly #atIds: AtIdIndex;
  #listed: { readonly revision: number; readonly entries: readonly ShelfEntry[] } | undefined;

  constructor(entries: KnownEntries, changes: Pick<ChangeLog, 'revision' | 'since'>) {
    this.#entries = entries;
    this.#changes = changes;
    this.#atIds = new AtIdIndex({ find: (id) => entries.find(id), list: () => this.#list() }, changes);
  }

  /** By naan, name and natural version. */
  list({ after, limit }: ListRange = {}): readonly ShelfEntry[] {
    const entries = this.#list();
    if (after === undefined && limit === undefined) return entries;
    const first = after === undefined ? 0 : firstWhere(entries, ({ id }) => compareIds(id, after) > 0);
    return entries.slice(first, limit === undefined ? undefined : first + limit);
  }

  /** The versions of one KO, oldest first. */
  versions(naan: string, name: string): readonly ShelfEntry[] {
    const entries = this.#list();
    const first = firstWhere(entries, ({ id }) => compareNames(id, { naan, name }) >= 0);
    let end = first;
    for (let id = entries[end]?.id; id?.naan === naan && id.name === name; id = entries[end]?.id) end++;
    return entries.slice(first, end);
  }

  /** The KOs of an `@id`, the oldest version first. */
  withAtId(atId: string): readonly ShelfEntry[] {
    return this.#atIds.find(atId);
  }

  #list(): readonly ShelfEntry[] {
    const { revision } = this.#changes;
    if (this.#listed?.revision === revision) return this.#listed.entries;
    const changed = this.#listed && this.#changes.since(this.#listed.revision);
    const entries =
      this.#listed === undefined || changed === undefined || changed.length > MOST_PLACED
        ? [...this.#entries.all()].sort((a, b) => compareIds(a.id, b.id))
        : this.#placed(this.#listed.entries, changed);
    this.#listed = { revision, entries };
    return entries;
  }

  /** The entries, with those of these ids as they are now. */
  #placed(entries: readonly ShelfEntry[], changed: readonly KoId[]): ShelfEntry[] {
    const placed = [...entries];
    for (const id of changed) {
      const at = firstWhere(placed, (other) => compareIds(other.id, id) >= 0);
      const there = placed[at];
      const now = this.#entries.find(id);
      const isThere = there !== undefined && compareIds(there.id, id) === 0;
      placed.splice(at, isThere ? 1 : 0, ...(now === undefined ? [] : [now]));
    }
    return placed;
  }
}
