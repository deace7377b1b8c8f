/** The KOs that are meant to be active on every node, as this node knows them: the packages that its activator reads. */
import type { ActiveKos } from '../activation/active-kos.ts';
import { compareIds } from '../knowledge-object/id-order.ts';
import { koKey, nameKey } from '../knowledge-object/id.ts';
import type { KoId, KoName } from '../knowledge-object/id.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import type { ActiveKo, ActiveTable } from './active-table.ts';

/** Opens the package of a KO that has this digest, whether it lies on the shelf or did so once. */
export type OpenPackage = (id: KoId, digest: string) => Promise<KoPackage | undefined>;

export class SharedKos implements ActiveKos {
  readonly #table: ActiveTable;
  readonly #openPackage: OpenPackage;
  /** By `<naan>/<name>`. */
  #names = new Map<string, readonly ActiveKo[]>();
  /** Milliseconds since 1970, by engine. */
  #refreshed: ReadonlyMap<string, number> = new Map();

  constructor(table: ActiveTable, openPackage: OpenPackage) {
    this.#table = table;
    this.#openPackage = openPackage;
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
    return digest === undefined ? Promise.resolve(undefined) : this.#openPackage(id, digest);
  }

  /** The same on all nodes, whenever each of them does it. */
  activated(id: KoId, engine: string): number | undefined {
    const at = this.find(id)?.at;
    return at === undefined ? undefined : Math.max(at, this.#refreshed.get(engine) ?? 0);
  }

  /** Only a change that all nodes make changes it. */
  rescan(): Promise<void> {
    return Promise.resolve();
  }

  /** The activator asks again for the packages that it could not get. */
  readAgain(): Promise<readonly KoId[]> {
    return Promise.resolve([]);
  }

  damage(): readonly [] {
    return [];
  }
}
