import type { KoId } from '../../knowledge-object/id.ts';
import { compareVersions } from '../../knowledge-object/version-order.ts';
import type { ShelfDamage, ShelfEntry } from '../shelf.ts';
import type { ExplodedKo, ExplodedPackages } from './exploded-packages.ts';
import type { StoredKo } from './load-index.ts';
import { keyOf } from './package-content.ts';
import type { StoredPackages } from './stored-packages.ts';

/** What is on the shelf, imported or exploded, as one. Of one id the imported KO serves, else the first folder. */
export class Catalog {
  readonly #stored: StoredPackages;
  readonly #exploded: ExplodedPackages;
  #listed: { stored: unknown; exploded: unknown; entries: readonly ShelfEntry[] } | undefined;

  constructor(stored: StoredPackages, exploded: ExplodedPackages) {
    this.#stored = stored;
    this.#exploded = exploded;
  }

  find(key: string): StoredKo | ExplodedKo | undefined {
    return this.#stored.kos.get(key) ?? this.#exploded.served.get(key);
  }

  /** By naan, name and natural version; the same array until something changes. */
  list(): readonly ShelfEntry[] {
    const stored = this.#stored.kos;
    const exploded = this.#exploded.served;
    if (this.#listed?.stored !== stored || this.#listed.exploded !== exploded) {
      const contents = new Map<string, StoredKo | ExplodedKo>([...exploded, ...stored]);
      const entries = [...contents.values()].map((ko) => ko.content.entry).sort((a, b) => compareIds(a.id, b.id));
      this.#listed = { stored, exploded, entries };
    }
    return this.#listed.entries;
  }

  damage(): readonly ShelfDamage[] {
    const damaged = [...this.#stored.kos].flatMap(([where, { damage }]) =>
      damage === undefined ? [] : [{ where, cause: damage }],
    );
    const unreadable = [...this.#stored.unreadable].map(([where, { cause, passing }]) => ({ where, cause, passing }));
    return [...unreadable, ...damaged, ...this.#exploded.damage, ...this.#duplicates()];
  }

  #duplicates(): ShelfDamage[] {
    return this.#exploded.folders.flatMap((ko) => {
      const key = keyOf(ko.content);
      const serving = this.find(key);
      if (serving === undefined || serving === ko) return [];
      const other = 'place' in serving ? `the folder ${serving.where}` : 'a package that was imported';
      return [{ where: ko.where, cause: `its "@id" ${key} is that of ${other}; remove one of the two` }];
    });
  }
}

const compareIds = (a: KoId, b: KoId): number =>
  compareText(a.naan, b.naan) || compareText(a.name, b.name) || compareVersions(a.version, b.version);

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
