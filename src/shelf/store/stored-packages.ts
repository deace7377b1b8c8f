/** The packages of rows: opened, and those of which it is known that they are damaged. */
import { readFile, stat } from 'node:fs/promises';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE, otherAtId } from '../../knowledge-object/metadata.ts';
import { packageDamaged, shelfNotReadable } from '../../lib/errors.ts';
import { isMissing, isTransient } from '../disk-errors.ts';
import { hashFile } from '../package/hash-file.ts';
import { OpenPackage } from '../package/open-package.ts';
import { describePackage, type HashedFile, type PackageContent } from '../package/package-content.ts';
import { keptIsDamaged } from '../not-kept.ts';
import type { KoPackage, RemovedPackage, ShelfDamage, ShelfEntry } from '../shelf.ts';
import type { Database } from './database.ts';
import type { ObjectsFolder } from './objects-folder.ts';
import { filesOf } from './packages.ts';

interface Damage {
  readonly digest: string;
  readonly cause: string;
}

export class StoredPackages {
  readonly #database: Database;
  readonly #objects: ObjectsFolder;
  readonly #find: (id: KoId) => ShelfEntry | undefined;
  readonly #damaged = new Map<string, Damage>();
  /** Files of packages that are open, with how often. */
  readonly #held = new Map<string, number>();

  /** `find`: what the rows say of a KO. */
  constructor(database: Database, objects: ObjectsFolder, find: (id: KoId) => ShelfEntry | undefined) {
    this.#database = database;
    this.#objects = objects;
    this.#find = find;
  }

  /**
   * @param settled resolves when no change of the KO is under way; left out by who makes one.
   * @throws packageDamaged; shelfNotReadable.
   */
  async open(entry: ShelfEntry, settled?: () => Promise<void>): Promise<KoPackage> {
    const known = this.#damaged.get(koKey(entry.id));
    if (known?.digest === entry.digest) throw damaged(entry.id, known.cause);
    const files = await this.#filesOf(entry);
    if (files === undefined) {
      await settled?.();
      const now = this.#find(entry.id);
      if (settled !== undefined && now !== undefined && now.digest !== entry.digest) return this.open(now, settled);
      throw this.#found(entry, 'the list of its files is missing; import it again');
    }
    for (const file of files) {
      const cause = await this.#missing(entry, file);
      if (cause !== undefined) throw this.#found(entry, cause);
    }
    return this.#opened({ ...contentOf(entry.id, entry.metadata, files), entry });
  }

  /** A package that is retained. @throws packageDamaged. */
  async retained(chosen: RemovedPackage): Promise<PackageContent> {
    const files = await filesOf(this.#database.query, this.#database.dialect, chosen.digest).catch(() => undefined);
    if (files === undefined) throw keptIsDamaged(chosen, 'the list of its files is missing');
    for (const file of files) {
      const fault = await this.#fault(file);
      if (fault !== undefined) throw keptIsDamaged(chosen, `its file ${file.path} ${fault}`);
    }
    const metadata = files.find(({ path }) => path === METADATA_FILE);
    const text = metadata === undefined ? '' : await readFile(this.#objects.pathOf(metadata.sha256), 'utf8');
    return contentOf(chosen.id, text, files);
  }

  openRetained(content: PackageContent): KoPackage {
    return this.#opened(content);
  }

  /** Whether a package that is open has a file. */
  isHeld(digest: string): boolean {
    return this.#held.has(digest);
  }

  /** It was stored again. */
  isWhole(id: KoId): void {
    this.#damaged.delete(koKey(id));
  }

  /** Forgets the damage of those that are whole again: a person may have repaired them. */
  async lookAgain(isAsked: (key: string) => boolean): Promise<void> {
    for (const [key, { digest }] of [...this.#damaged]) {
      if (!isAsked(key)) continue;
      const files = await filesOf(this.#database.query, this.#database.dialect, digest).catch(() => undefined);
      const faults = await Promise.all((files ?? []).map((file) => this.#fault(file).catch(() => 'unreadable')));
      if (files !== undefined && faults.every((fault) => fault === undefined)) this.#damaged.delete(key);
    }
  }

  /** Of what is on the shelf now. */
  damage(): readonly ShelfDamage[] {
    return [...this.#damaged].flatMap(([where, { digest, cause }]) => {
      const [naan = '', name = '', version = ''] = where.split('/');
      return this.#find({ naan, name, version })?.digest === digest ? [{ where, cause }] : [];
    });
  }

  /** Undefined where there is no such row, as of a package that was just replaced. */
  #filesOf({ id, digest }: ShelfEntry): Promise<readonly HashedFile[] | undefined> {
    return filesOf(this.#database.query, this.#database.dialect, digest).catch((thrown: unknown) => {
      throw shelfNotReadable(`${koKey(id)} cannot be read at the moment.`, thrown);
    });
  }

  #opened(content: PackageContent): KoPackage {
    const digests = [...content.files.values()].map(({ sha256 }) => sha256);
    for (const each of digests) this.#held.set(each, (this.#held.get(each) ?? 0) + 1);
    let isHeld = true;
    return new OpenPackage({
      content,
      place: { path: '', locate: ({ sha256 }) => this.#objects.pathOf(sha256) },
      verify: true,
      release: () => {
        if (isHeld) for (const each of digests) this.#letGo(each);
        isHeld = false;
      },
      onDamage: (cause) => void this.#found(content.entry, cause),
    });
  }

  #letGo(digest: string): void {
    const left = (this.#held.get(digest) ?? 1) - 1;
    if (left > 0) this.#held.set(digest, left);
    else this.#held.delete(digest);
  }

  #found({ id, digest }: ShelfEntry, cause: string): Error {
    this.#damaged.set(koKey(id), { digest, cause });
    return damaged(id, cause);
  }

  /** Without reading it. The metadata are in the row. */
  async #missing({ id }: ShelfEntry, { path, size, sha256 }: HashedFile): Promise<string | undefined> {
    if (path === METADATA_FILE) return undefined;
    try {
      const found = await stat(this.#objects.pathOf(sha256));
      if (found.isFile() && found.size === size) return undefined;
      return `its file ${path} is not what was stored; import it again`;
    } catch (thrown) {
      if (isMissing(thrown)) return `its file ${path} is missing; import it again`;
      if (isTransient(thrown)) throw shelfNotReadable(`${koKey(id)} cannot be read at the moment.`, thrown);
      return `its file ${path} cannot be read; import it again`;
    }
  }

  /** What is wrong with a file, by its bytes. */
  async #fault({ size, sha256 }: HashedFile): Promise<string | undefined> {
    try {
      return (await hashFile(this.#objects.pathOf(sha256), size)) === sha256 ? undefined : 'is not what was stored';
    } catch (thrown) {
      if (isTransient(thrown)) throw thrown;
      return 'is missing';
    }
  }
}

const damaged = (id: KoId, cause: string): Error => packageDamaged(`The package of ${koKey(id)} is damaged: ${cause}.`);

/** @param files of the package; its `metadata.json` may be among them, and does not count. */
export const contentOf = (id: KoId, metadata: string, files: readonly HashedFile[]): PackageContent =>
  describePackage(
    id,
    metadata,
    files.filter(({ path }) => path !== METADATA_FILE),
    otherAtId(id, metadata),
  );
