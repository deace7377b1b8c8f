import { koKey } from '../../knowledge-object/id.ts';
import type { ChangeLog } from '../change-log.ts';
import { EntryIndex } from '../entry-index.ts';
import type { ListRange, ShelfDamage, ShelfEntry } from '../shelf.ts';
import { Duplicates } from './duplicates.ts';
import type { ExplodedKo, ExplodedPackages } from './exploded-packages.ts';
import type { StoredKo } from './load-index.ts';
import { keyOf } from './package-content.ts';
import type { LoadedPackages } from './loaded-packages.ts';

/** What is on the shelf, imported or exploded, as one. Of one id the imported KO serves, else the first folder. */
export class Catalog {
  readonly #stored: LoadedPackages;
  readonly #exploded: ExplodedPackages;
  readonly #duplicates: Duplicates;
  readonly #index: EntryIndex;

  /** `changes`: of both. */
  constructor(stored: LoadedPackages, exploded: ExplodedPackages, changes: ChangeLog) {
    this.#stored = stored;
    this.#exploded = exploded;
    this.#duplicates = new Duplicates(exploded, changes, (key) => this.find(key));
    const all = (): ShelfEntry[] => this.#all();
    this.#index = new EntryIndex({ find: (id) => this.find(koKey(id))?.content.entry, all }, changes);
  }

  find(key: string): StoredKo | ExplodedKo | undefined {
    return this.#stored.kos.get(key) ?? this.#exploded.served.get(key);
  }

  /** By naan, name and natural version. */
  list(range?: ListRange): readonly ShelfEntry[] {
    return this.#index.list(range);
  }

  /** The versions of one KO, oldest first. */
  versions(naan: string, name: string): readonly ShelfEntry[] {
    return this.#index.versions(naan, name);
  }

  /** The KOs of an `@id`, the oldest version first. */
  withAtId(atId: string): readonly ShelfEntry[] {
    return this.#index.withAtId(atId);
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

  #all(): ShelfEntry[] {
    const contents = new Map<string, StoredKo | ExplodedKo>([...this.#exploded.served, ...this.#stored.kos]);
    return [...contents.values()].map(({ content }) => content.entry);
  }
}
