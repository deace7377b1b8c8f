/** Which knowledge objects have a page of their own, found out once for each state of one. */
import type { Activator } from '../../activation/activator.ts';
import { koKey } from '../../knowledge-object/id.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';

/** The page that the authors of a knowledge object show people, at the root of its package. */
export const OWN_PAGE = 'index.html';

export class OwnPages {
  readonly #known = new WeakMap<ShelfEntry, boolean>();
  readonly #shelf: Shelf;
  readonly #activator: Activator;

  constructor(shelf: Shelf, activator: Activator) {
    this.#shelf = shelf;
    this.#activator = activator;
  }

  /** The places of those that have one. */
  async among(entries: readonly ShelfEntry[]): Promise<string[]> {
    const places: string[] = [];
    for (const entry of entries) {
      const hasPage = this.#known.get(entry) ?? (await this.#hasPage(entry));
      this.#known.set(entry, hasPage);
      if (hasPage) places.push(koKey(entry.id));
    }
    return places;
  }

  async #hasPage({ id, digest }: ShelfEntry): Promise<boolean> {
    const key = koKey(id);
    const loaded = this.#activator.set.ofName(id).find(({ ko }) => ko.key === key)?.ko;
    // What is open need not be opened again.
    if (loaded?.entry.digest === digest && loaded.isOpen) return loaded.package.files.has(OWN_PAGE);
    const pkg = await this.#shelf.open(id);
    pkg?.release();
    return pkg?.files.has(OWN_PAGE) === true;
  }
}
