import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { packageDamaged, ServiceError, shelfNotReadable } from '../../lib/errors.ts';
import type { HashedFile } from '../package/package-content.ts';
import type { KoPackage, ShelfDamage, ShelfEntry } from '../shelf.ts';
import { FetchedPackage } from './fetched-package.ts';
import { DamagedBlob, type PackageFiles } from './package-files.ts';
import { contentOf } from './stored-content.ts';

interface Damage {
  readonly digest: string;
  readonly cause: string;
}

/** The packages that can be read, and those of which it is known that they cannot. */
export class StoredPackages {
  readonly #files: PackageFiles;
  readonly #find: (id: KoId) => ShelfEntry | undefined;
  readonly #catchUp: () => Promise<unknown>;
  readonly #damaged = new Map<string, Damage>();

  /** @param find reads the index; `catchUp` resolves when the index has what other nodes changed until now. */
  constructor(files: PackageFiles, find: (id: KoId) => ShelfEntry | undefined, catchUp: () => Promise<unknown>) {
    this.#files = files;
    this.#find = find;
    this.#catchUp = catchUp;
  }

  /** @throws packageDamaged, or shelfNotReadable where the database does not answer. */
  async open(entry: ShelfEntry): Promise<KoPackage> {
    try {
      const listed = await this.#files.list(entry.digest);
      if (listed !== undefined) return this.#packageOf(entry, listed);
      // It was replaced since, and another node gave its space back.
      const now = await this.#catchUp().then(() => this.#find(entry.id));
      if (now !== undefined && now.digest !== entry.digest) return await this.open(now);
      throw new DamagedBlob('the list of its files is missing');
    } catch (thrown) {
      throw this.#unreadable(entry.id, entry.digest, thrown);
    }
  }

  /**
   * The package of a KO with this content, the current one or an earlier; undefined where it is stored no more.
   * @throws as `open`
   */
  async openDigest(id: KoId, digest: string): Promise<KoPackage | undefined> {
    const current = this.#find(id);
    if (current?.digest === digest) return this.open(current);
    try {
      const listed = await this.#files.list(digest);
      const metadata = listed?.find(({ path }) => path === METADATA_FILE);
      if (listed === undefined || metadata === undefined) return undefined;
      const { entry } = contentOf(id, (await this.#files.read(metadata)).toString('utf8'), listed);
      return this.#packageOf(entry, listed);
    } catch (thrown) {
      throw this.#unreadable(id, digest, thrown);
    }
  }

  /** It was stored anew. */
  isWhole(id: KoId): void {
    this.#damaged.delete(koKey(id));
  }

  /** Forgets the damage of those whose files, as `damagedFile` finds them by digest, are whole again. */
  async lookAgain(damagedFile: (digest: string) => Promise<string | undefined>): Promise<void> {
    for (const [key, { digest }] of this.#damaged) {
      const damaged = await damagedFile(digest).catch(() => '');
      if (damaged === undefined) this.#damaged.delete(key);
    }
  }

  /** Of the current packages. */
  damage(): readonly ShelfDamage[] {
    const present = [...this.#damaged].filter(([key, { digest }]) => {
      const [naan = '', name = '', version = ''] = key.split('/');
      return this.#find({ naan, name, version })?.digest === digest;
    });
    return present.map(([where, { cause }]) => ({ where, cause }));
  }

  #packageOf(entry: ShelfEntry, listed: readonly HashedFile[]): KoPackage {
    const onDamage = (cause: string): void => void this.#damaged.set(koKey(entry.id), { digest: entry.digest, cause });
    return new FetchedPackage({ entry, listed, from: this.#files, onDamage });
  }

  #unreadable(id: KoId, digest: string, thrown: unknown): unknown {
    const key = koKey(id);
    if (thrown instanceof ServiceError) return thrown;
    if (!(thrown instanceof DamagedBlob)) return shelfNotReadable(`${key} cannot be read at the moment.`, thrown);
    this.#damaged.set(key, { digest, cause: `${thrown.message}; import it again` });
    return packageDamaged(`The package of ${key} is damaged: ${thrown.message}; import it again.`, { cause: thrown });
  }
}
