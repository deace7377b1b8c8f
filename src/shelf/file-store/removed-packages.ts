import { join } from 'node:path';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { isTransient } from '../disk-errors.ts';
import { keptIsDamaged, notKept } from '../not-kept.ts';
import type { RemovedPackage } from '../shelf.ts';
import { readExploded } from './exploded-folder.ts';
import type { KeptPackage } from './kept-name.ts';
import type { KeptPackages, Sorted } from './kept-packages.ts';
import { OpenPackage } from './open-package.ts';
import { faultOf } from './package-faults.ts';
import type { Pointer } from './pointer.ts';
import type { ShelfLayout } from './shelf-layout.ts';
import type { StoredPackages, Warn } from './stored-packages.ts';

export interface RemovedPackagesOptions {
  readonly layout: ShelfLayout;
  readonly kept: KeptPackages;
  readonly stored: StoredPackages;
  /** The digest of what is there now. */
  readonly current: (id: KoId) => string | undefined;
  readonly warn: Warn;
}

/** What is kept of the KOs of a shelf, beside what is there. */
export class RemovedPackages {
  readonly #options: RemovedPackagesOptions;

  constructor(options: RemovedPackagesOptions) {
    this.#options = options;
  }

  /** Of one KO or of all, the latest first. */
  async list(id?: KoId): Promise<RemovedPackage[]> {
    const found: RemovedPackage[] = [];
    for (const each of id === undefined ? await this.#options.kept.ids() : [id])
      for (const { id, digest, removed, why } of (await this.#sorted(each)).stay)
        found.push({ id, digest, removed, why });
    return found.sort(byTime);
  }

  ids(): Promise<KoId[]> {
    return this.#options.kept.ids();
  }

  /** The one of that digest, or the latest. @throws packageNotKept, saying what is kept. */
  async find(id: KoId, digest: string | undefined): Promise<KeptPackage> {
    const { stay } = await this.#sorted(id);
    const chosen = digest === undefined ? stay[0] : stay.find((each) => each.digest === digest);
    if (chosen === undefined) throw notKept(id, stay, digest);
    return chosen;
  }

  /** The package of which the files lie in `objects/`. @throws packageDamaged unless it is whole. */
  async stored(chosen: KeptPackage): Promise<Pointer> {
    const { pointer } = await this.#read(chosen);
    const { entry } = pointer.content;
    if (koKey(entry.id) !== koKey(chosen.id) || entry.digest !== chosen.digest)
      throw keptIsDamaged(chosen, 'what says which files it has is that of another');
    const fault = await faultOf(this.#options.layout, pointer);
    if (fault !== undefined) throw keptIsDamaged(chosen, fault.replace('; import it again', ''));
    return pointer;
  }

  /** A folder of a person that lies in `.removed/`. @throws packageDamaged where it is not what it was. */
  async exploded(chosen: KeptPackage): Promise<OpenPackage> {
    const { removed = '' } = await this.#read(chosen);
    const path = join(this.#options.layout.removed, removed);
    const found = await readExploded(path, new Map(), chosen.id.naan).catch((thrown: unknown) => {
      if (isTransient(thrown)) throw thrown;
      return undefined;
    });
    if (found?.content.entry.digest !== chosen.digest)
      throw keptIsDamaged(chosen, `its folder .removed/${removed} is not what it was`);
    return new OpenPackage({ content: found.content, place: { path }, verify: true, release: () => undefined });
  }

  /** Gives back what is kept of a KO beyond its bounds. Never rejects: what stays goes the next time. @returns how many. */
  async discard(id: KoId): Promise<number> {
    const { kept, stored, warn } = this.#options;
    let gone = 0;
    try {
      for (const each of (await this.#sorted(id)).go) {
        await kept.drop(each);
        gone++;
        if (each.folder !== undefined) await stored.retire(id, each.folder);
      }
    } catch (thrown) {
      warn(`What is kept of ${koKey(id)} beyond its bounds could not be given back; it is tried again`, thrown);
    }
    return gone;
  }

  #sorted(id: KoId): Promise<Sorted> {
    return this.#options.kept.sorted(id, this.#options.current(id));
  }

  #read(chosen: KeptPackage): ReturnType<KeptPackages['read']> {
    return this.#options.kept.read(chosen).catch((thrown: unknown) => {
      if (isTransient(thrown)) throw thrown;
      throw keptIsDamaged(chosen, 'what says which files it has cannot be read');
    });
  }
}

const byTime = (a: RemovedPackage, b: RemovedPackage): number =>
  b.removed.getTime() - a.removed.getTime() || (koKey(a.id) < koKey(b.id) ? -1 : 1);
