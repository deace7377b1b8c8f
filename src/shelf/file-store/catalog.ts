import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { compareIds, compareNames } from '../../knowledge-object/id-order.ts';
import { firstWhere } from '../../lib/first-where.ts';
import { AtIdIndex } from '../at-id-index.ts';
import type { ChangeLog } from '../change-log.ts';
import type { ListRange, ShelfDamage, ShelfEntry } from '../shelf.ts';
import { Duplicates } from './duplicates.ts';
import type { ExplodedKo, ExplodedPackages } from './exploded-packages.ts';
import type { StoredKo } from './load-index.ts';
import { keyOf } from './package-content.ts';
import type { StoredPackages } from './stored-packages.ts';

/** With more changes than this it is quicker to sort all anew. */
const MOST_PLACED = 64;

/** What is on the shelf, imported or exploded, as one. Of one id the imported KO serves, else the first folder. */
export class Catalog {
  readonly #stored: StoredPackages;
  readonly #exploded: ExplodedPackages;
  readonly #changes: ChangeLog;
  readonly #duplicates: Duplicates;
  readonly #atIds: AtIdIndex;
  #listed: { readonly revision: number; readonly entries: readonly ShelfEntry[] } | undefined;

  /** `changes`: of both. */
  constructor(stored: StoredPackages, exploded: ExplodedPackages, changes: ChangeLog) {
    this.#stored = stored;
    this.#exploded = exploded;
    this.#changes = changes;
    this.#duplicates = new Duplicates(exploded, changes, (key) => this.find(key));
    this.#atIds = new AtIdIndex(
      { find: (id) => this.find(koKey(id))?.content.entry, list: () => this.#list() },
      changes,
    );
  }

  find(key: string): StoredKo | ExplodedKo | undefined {
    return this.#stored.kos.get(key) ?? this.#exploded.served.get(key);
  }

  /** By naan, name and natural version. */
  list({ after, limit }: ListRange = {}): readonly ShelfEntry[] {
    const entries = this.#list();
    if (after === undefined && limit === undefined) return entries;
    const first = after === undefined ? 0 : firstWhere(entries, ({ id }) => compareIds(id, after) > 0);
    return entries.slice(first, limit === undefined ? undefined : first + limit);
  }

  #list(): readonly ShelfEntry[] {
    const { revision } = this.#changes;
    if (this.#listed?.revision === revision) return this.#listed.entries;
    const changed = this.#listed && this.#changes.since(this.#listed.revision);
    const entries =
      this.#listed === undefined || changed === undefined || changed.length > MOST_PLACED
        ? this.#sorted()
        : this.#placed(this.#listed.entries, changed);
    this.#listed = { revision, entries };
    return entries;
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

  damage(): readonly ShelfDamage[] {
    const damaged = [...this.#stored.damaged].flatMap(({ content, damage }) =>
      damage === undefined ? [] : [{ where: keyOf(content), cause: damage }],
    );
    const unreadable = [...this.#stored.unreadable].map(([where, { cause, transient }]) => ({
      where,
      cause,
      transient,
    }));
    return [...unreadable, ...damaged, ...this.#exploded.damage, ...this.#duplicates.list()];
  }

  #sorted(): ShelfEntry[] {
    const contents = new Map<string, StoredKo | ExplodedKo>([...this.#exploded.served, ...this.#stored.kos]);
    return [...contents.values()].map((ko) => ko.content.entry).sort((a, b) => compareIds(a.id, b.id));
  }

  /** The entries, with those of these ids as they are now. */
  #placed(entries: readonly ShelfEntry[], changed: readonly KoId[]): ShelfEntry[] {
    const placed = [...entries];
    for (const id of changed) {
      const at = firstWhere(placed, (other) => compareIds(other.id, id) >= 0);
      const there = placed[at];
      const now = this.find(koKey(id))?.content.entry;
      const isThere = there !== undefined && compareIds(there.id, id) === 0;
      placed.splice(at, isThere ? 1 : 0, ...(now === undefined ? [] : [now]));
    }
    return placed;
  }
}
