/** The KOs that are meant to be active on every node, as this node knows them: the packages that its activator reads. */
import type { Activator, Change } from '../activation/activator.ts';
import { type About, type ActiveKos, selectionOf } from '../activation/selection.ts';
import { compareIds, type KoId, koKey, type KoName, nameKey } from '../knowledge-object/id.ts';
import { koNotFound } from '../lib/errors.ts';
import { mapBounded } from '../lib/fair-queue.ts';
import type { KoPackage, Shelf, ShelfDamage, ShelfEntry } from '../shelf/shelf.ts';
import type { SharedShelf } from '../shelf/store/stored-shelf.ts';
import type { ActiveKo, ActiveTable } from './active-table.ts';

export class SharedKos implements ActiveKos {
  readonly #table: ActiveTable;
  readonly #shelf: Pick<SharedShelf, 'openPackage' | 'readAgain' | 'damage' | 'database'>;
  /** By `<naan>/<name>`. */
  #names = new Map<string, readonly ActiveKo[]>();
  /** Milliseconds since 1970, by engine. */
  #refreshed: ReadonlyMap<string, number> = new Map();

  constructor(table: ActiveTable, shelf: Pick<SharedShelf, 'openPackage' | 'readAgain' | 'damage' | 'database'>) {
    this.#table = table;
    this.#shelf = shelf;
  }

  /** Reads what is meant to be active, of these names or of all. @throws DatabaseError, after which all is as before. */
  async catchUp(names?: readonly KoName[]): Promise<void> {
    const [read] = await Promise.all([this.#table.read(names), this.readTimes()]);
    const found = Map.groupBy(read, ({ id }) => nameKey(id));
    if (names === undefined) this.#names = found;
    else
      for (const each of names) {
        const kos = found.get(nameKey(each));
        if (kos === undefined) this.#names.delete(nameKey(each));
        else this.#names.set(nameKey(each), kos);
      }
  }

  /** Takes what lies on the shelf as what is to be active, where nobody can say it. */
  take(entries: readonly ShelfEntry[]): void {
    this.#names = Map.groupBy(
      entries.map(({ id, digest }) => ({ id, digest, generation: 0, at: 0 })),
      ({ id }) => nameKey(id),
    );
  }

  /** Makes a change of what is to be active, by what lies on the shelf, where nobody can write it down. @throws koNotFound. */
  change(change: Change, about: About, entries: readonly ShelfEntry[]): void {
    const { ko: isAsked, named } = selectionOf(
      about.what === 'engine' ? { what: 'kos', kos: about.also ?? [] } : about,
    );
    const before = [...this.#names.values()].flat();
    const known = new Map(before.map((each) => [koKey(each.id), each]));
    const present = entries.filter(({ id }) => isAsked(id));
    const isAbout = present.length > 0 || before.some(({ id }) => isAsked(id));
    if (named !== undefined && !isAbout) throw koNotFound(named);
    const asked = present.map(({ id, digest }) => {
      const there = known.get(koKey(id));
      return change === 'refresh' && there !== undefined ? there : { id, digest, generation: 0, at: 0 };
    });
    this.#names = Map.groupBy([...before.filter(({ id }) => !isAsked(id)), ...asked], ({ id }) => nameKey(id));
  }

  /** When all endpoints of an engine were asked for anew. @throws DatabaseError. */
  async readTimes(): Promise<void> {
    this.#refreshed = await this.#table.refreshed();
  }

  list(): Promise<readonly ActiveKo[]> {
    return Promise.resolve([...this.#names.values()].flat().sort((a, b) => compareIds(a.id, b.id)));
  }

  versions(naan: string, name: string): Promise<readonly ActiveKo[]> {
    const kos = this.#names.get(nameKey({ naan, name })) ?? [];
    return Promise.resolve(kos.toSorted((a, b) => compareIds(a.id, b.id)));
  }

  /** Undefined for what is not meant to be active. */
  find(id: KoId): ActiveKo | undefined {
    return this.#names.get(nameKey(id))?.find((each) => koKey(each.id) === koKey(id));
  }

  open(id: KoId): Promise<KoPackage | undefined> {
    const digest = this.find(id)?.digest;
    return digest === undefined ? Promise.resolve(undefined) : this.#shelf.openPackage(id, digest);
  }

  /** The same on all nodes, whenever each of them does it; one alone knows when it did. */
  activated(id: KoId, engine: string): number | undefined {
    const at = this.#shelf.database.isShared ? this.find(id)?.at : undefined;
    return at === undefined ? undefined : Math.max(at, this.#refreshed.get(engine) ?? 0);
  }

  /** Who orders a change has looked for all nodes. */
  rescan(): Promise<void> {
    return Promise.resolve();
  }

  readAgain(): Promise<readonly KoId[]> {
    return this.#shelf.readAgain();
  }

  damage(): readonly ShelfDamage[] {
    return this.#shelf.damage();
  }
}

const OPENED_AT_A_TIME = 16;

/**
 * What a refresh of one engine takes in from the shelf, or lets go with it. Only packages tell of which engines they are, so
 * the node that is asked finds it out for all.
 * @returns the KOs with that engine of which the shelf has a first package, or none any more. @throws DatabaseError.
 */
export async function comeOrGone(
  engine: string,
  {
    shelf,
    kos,
    activator,
  }: {
    readonly shelf: Pick<Shelf, 'list' | 'open'>;
    readonly kos: SharedKos;
    readonly activator: Pick<Activator, 'enginesOf' | 'set'>;
  },
): Promise<readonly KoId[]> {
  await kos.catchUp();
  const stored = await shelf.list();
  const found: KoId[] = [];
  const fresh = stored.filter(({ id }) => kos.find(id) === undefined);
  await mapBounded(fresh, OPENED_AT_A_TIME, async ({ id }) => {
    const pkg = await shelf.open(id);
    // What cannot be loaded has no endpoint of any engine.
    const engines = pkg === undefined ? [] : await activator.enginesOf(pkg).catch(() => []);
    if (engines.includes(engine)) found.push(id);
  });
  const keys = new Set(stored.map(({ id }) => koKey(id)));
  const gone = (await kos.list()).filter(({ id }) => !keys.has(koKey(id)));
  const isOfEngine = ({ id }: { readonly id: KoId }): boolean =>
    activator.set.ofName(id).some((each) => each.ko.key === koKey(id) && each.entry.engine === engine);
  return [...found, ...gone.filter(isOfEngine).map(({ id }) => id)];
}
