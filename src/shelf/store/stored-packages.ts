/** The packages of rows: opened, and those of which it is known that they are damaged. */
import { readFile } from 'node:fs/promises';
import { koKey, parseKoId, type KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { packageDamaged, ServiceError, shelfNotReadable } from '../../lib/errors.ts';
import { OpenPackage } from '../package/open-package.ts';
import { admit } from '../package/admit.ts';
import type { HashedFile, PackageContent } from '../package/package-content.ts';
import type { KoPackage, RemovedPackage, ShelfDamage, ShelfEntry } from '../shelf.ts';
import { DamagedObject, type Objects } from './objects.ts';
import { keptIsDamaged } from './retained.ts';

interface Damage {
  readonly digest: string;
  readonly cause: string;
}

/** Which files a package has, by its digest; undefined where it is stored no more. */
export type FilesOf = (digest: string) => Promise<readonly HashedFile[] | undefined>;

export interface StoredPackagesOptions {
  readonly filesOf: FilesOf;
  readonly objects: Objects;
  /** What the rows say of a KO, as far as they are known here. */
  readonly find: (id: KoId) => ShelfEntry | undefined;
  /** Resolves when what is known here has all changes of a KO until now. */
  readonly settled: (id: KoId) => Promise<void>;
}

export class StoredPackages {
  readonly #options: StoredPackagesOptions;
  readonly #damaged = new Map<string, Damage>();
  /** Files of packages that are open, with how often. */
  readonly #held = new Map<string, number>();

  constructor(options: StoredPackagesOptions) {
    this.#options = options;
  }

  /** @param settles false for who makes a change of the KO just now. @throws packageDamaged; shelfNotReadable. */
  async open(entry: ShelfEntry, settles = true): Promise<KoPackage> {
    const { filesOf, objects, find, settled } = this.#options;
    const known = this.#damaged.get(koKey(entry.id));
    if (known?.digest === entry.digest) throw damaged(entry.id, known.cause);
    try {
      const files = await filesOf(entry.digest);
      if (files !== undefined) {
        await objects.prepare(files);
        return this.#opened({ entry, files: new Map(files.map((file) => [file.path, file])) });
      }
      // It was replaced since, and its space was given back.
      if (settles) await settled(entry.id);
      const now = find(entry.id);
      if (settles && now !== undefined && now.digest !== entry.digest) return await this.open(now);
      throw new DamagedObject('the list of its files is missing');
    } catch (thrown) {
      throw this.#unreadable(entry, thrown);
    }
  }

  /**
   * The package of a KO with this content, the current one or an earlier; undefined where it is stored no more.
   * @throws as `open`.
   */
  async openDigest(id: KoId, digest: string): Promise<KoPackage | undefined> {
    const { filesOf, objects, find } = this.#options;
    const current = find(id);
    if (current?.digest === digest) return this.open(current);
    try {
      const files = await filesOf(digest);
      if (files === undefined) return undefined;
      await objects.prepare(files);
      return this.#opened(admit(id, await this.#metadataIn(files), files));
    } catch (thrown) {
      if (thrown instanceof ServiceError) throw thrown;
      if (!(thrown instanceof DamagedObject))
        throw shelfNotReadable(`${koKey(id)} cannot be read at the moment.`, thrown);
      throw damaged(id, causeOf(thrown));
    }
  }

  /** A package that is retained, all of whose files are whole. @throws packageDamaged. */
  async retained(chosen: RemovedPackage): Promise<PackageContent> {
    const { filesOf, objects } = this.#options;
    const files = await filesOf(chosen.digest).catch(() => undefined);
    if (files === undefined) throw keptIsDamaged(chosen, 'the list of its files is missing');
    for (const file of files) {
      const fault = await objects.faultOf(file);
      if (fault !== undefined) throw keptIsDamaged(chosen, `its file ${file.path} ${fault}`);
    }
    return admit(chosen.id, await this.#metadataIn(files), files);
  }

  openRetained(content: PackageContent): KoPackage {
    return this.#opened(content);
  }

  /** Reads all files of a package. @throws shelfNotReadable. */
  async verify(entry: ShelfEntry): Promise<ShelfDamage | undefined> {
    const { filesOf, objects } = this.#options;
    try {
      for (const file of (await filesOf(entry.digest)) ?? []) {
        const fault = await objects.faultOf(file);
        if (fault !== undefined) throw new DamagedObject(fault, file.path);
      }
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof DamagedObject)) throw this.#unreadable(entry, thrown);
      this.#note(entry, causeOf(thrown));
      return { where: koKey(entry.id), cause: causeOf(thrown) };
    }
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
    const { filesOf, objects } = this.#options;
    for (const [key, { digest }] of [...this.#damaged]) {
      if (!isAsked(key)) continue;
      const files = await filesOf(digest).catch(() => undefined);
      const faults = await Promise.all((files ?? []).map((file) => objects.faultOf(file).catch(() => 'unreadable')));
      if (files !== undefined && faults.every((fault) => fault === undefined)) this.#damaged.delete(key);
    }
  }

  /** Of what is on the shelf now. */
  damage(): readonly ShelfDamage[] {
    return [...this.#damaged].flatMap(([where, { digest, cause }]) => {
      const id = parseKoId(where);
      return id !== undefined && this.#options.find(id)?.digest === digest ? [{ where, cause }] : [];
    });
  }

  async #metadataIn(files: readonly HashedFile[]): Promise<string> {
    const metadata = files.find(({ path }) => path === METADATA_FILE);
    if (metadata === undefined) throw new DamagedObject('is missing', METADATA_FILE);
    const found = await this.#options.objects.locate(metadata);
    return typeof found === 'string' ? readFile(found, 'utf8') : found.toString('utf8');
  }

  #opened(content: Pick<PackageContent, 'entry' | 'files'>): KoPackage {
    const digests = [...content.files.values()].map(({ sha256 }) => sha256);
    for (const each of digests) this.#held.set(each, (this.#held.get(each) ?? 0) + 1);
    let isHeld = true;
    return new OpenPackage({
      content,
      place: { path: '', locate: (file) => this.#options.objects.locate(file) },
      verify: true,
      release: () => {
        if (isHeld) for (const each of digests) this.#letGo(each);
        isHeld = false;
      },
      onDamage: (cause) => void this.#note(content.entry, cause),
    });
  }

  #letGo(digest: string): void {
    const left = (this.#held.get(digest) ?? 1) - 1;
    if (left > 0) this.#held.set(digest, left);
    else this.#held.delete(digest);
  }

  #note({ id, digest }: ShelfEntry, cause: string): void {
    this.#damaged.set(koKey(id), { digest, cause });
  }

  #unreadable(entry: ShelfEntry, thrown: unknown): unknown {
    if (thrown instanceof ServiceError) return thrown;
    if (!(thrown instanceof DamagedObject))
      return shelfNotReadable(`${koKey(entry.id)} cannot be read at the moment.`, thrown);
    const cause = causeOf(thrown);
    this.#note(entry, cause);
    return damaged(entry.id, cause);
  }
}

const causeOf = ({ path, message }: DamagedObject): string =>
  `${path === undefined ? message : `its file ${path} ${message}`}; import it again`;

const damaged = (id: KoId, cause: string): Error => packageDamaged(`The package of ${koKey(id)} is damaged: ${cause}.`);
