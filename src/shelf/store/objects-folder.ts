/**
 * The contents of a shelf in a folder: each file once, named by its sha256, written and synced before the row that names
 * it. What no row names is garbage, which `collect` takes away.
 */
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { isMissing, isTransient } from '../disk-errors.ts';
import { makeFolder, syncFolder, type DurableFiles } from './durable-files.ts';
import { hashFile, type HashedFile } from '../package/package-content.ts';
import { DamagedObject, type Objects, type Source, type Stored } from './objects.ts';

export interface FoundObject {
  readonly digest: string;
  /** Of the listing of a package: `package` where it is on the shelf, `retained` where it was deleted or replaced. */
  readonly listing: string | undefined;
  readonly path: string;
}

/** Listings say in their names whether their package is on the shelf or was deleted or replaced. */
const NAME = /^([0-9a-f]{64})(?:\.(package|retained))?$/;
/** "An object that no row names is deleted when it is older than an hour." */
const LEFTOVER_MS = 3_600_000;

export interface ObjectsFolderOptions {
  readonly folder: string;
  /** A folder on the same disk for files that are being written. */
  readonly staging: string;
  readonly disk: DurableFiles;
  /** The digests of all objects that rows name. */
  readonly named?: () => Promise<ReadonlySet<string>>;
}

export class ObjectsFolder implements Objects {
  readonly #folder: string;
  readonly #staging: string;
  readonly #disk: DurableFiles;
  /** Those that are on their way into rows, with how often. */
  readonly #pinned = new Map<string, number>();

  readonly #named: ObjectsFolderOptions['named'];

  constructor({ folder, staging, disk, named }: ObjectsFolderOptions) {
    this.#folder = folder;
    this.#staging = staging;
    this.#disk = disk;
    this.#named = named;
  }

  pathOf(digest: string, isListing = false): string {
    return join(this.#folder, digest.slice(0, 2), isListing ? `${digest}.package` : digest);
  }

  async mark(listing: string, isOnShelf: boolean): Promise<void> {
    const [current, retained] = [this.pathOf(listing, true), `${this.pathOf(listing)}.retained`];
    const [from, to] = isOnShelf ? [retained, current] : [current, retained];
    const now = new Date();
    await rename(from, to).catch(() => undefined);
    await utimes(to, now, now).catch(() => undefined);
  }

  async put(sources: readonly Source[], isNamed: (digest: string) => Promise<boolean>): Promise<Stored> {
    const created: Source[] = [];
    const pinned = sources.map(({ sha256 }) => sha256);
    for (const each of pinned) this.#pinned.set(each, (this.#pinned.get(each) ?? 0) + 1);
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      for (const each of pinned) this.#unpin(each);
    };
    const discard = async (): Promise<void> => {
      release();
      for (const { sha256, isListing } of created)
        if (!this.#pinned.has(sha256) && !(await isNamed(sha256).catch(() => true)))
          await rm(this.pathOf(sha256, isListing), { force: true }).catch(() => undefined);
    };
    try {
      const touched = new Set<string>();
      for (const source of new Map(sources.map((each) => [each.sha256, each])).values()) {
        if (await this.#isWhole(source)) continue;
        created.push(source);
        touched.add(await this.#place(source));
      }
      for (const folder of touched) await this.#disk.syncFolder('objects', folder);
      return { discard, release };
    } catch (thrown) {
      await discard();
      throw thrown;
    }
  }

  /** Every object in the folder. */
  async *all(): AsyncGenerator<FoundObject> {
    for (const part of await readdir(this.#folder)) {
      const names = await readdir(join(this.#folder, part)).catch(() => []);
      for (const name of names) {
        const [, digest, listing] = NAME.exec(name) ?? [];
        if (digest !== undefined) yield { digest, listing, path: join(this.#folder, part, name) };
      }
    }
  }

  /** Without reading them. The metadata are in the row. */
  async prepare(files: readonly HashedFile[]): Promise<void> {
    for (const { path, size, sha256 } of files) {
      if (path === METADATA_FILE) continue;
      try {
        const found = await stat(this.pathOf(sha256));
        if (!found.isFile() || found.size !== size) throw new DamagedObject('is not what was stored', path);
      } catch (thrown) {
        if (thrown instanceof DamagedObject) throw thrown;
        if (isMissing(thrown)) throw new DamagedObject('is missing', path);
        if (isTransient(thrown)) throw thrown;
        throw new DamagedObject('cannot be read', path);
      }
    }
  }

  locate({ sha256 }: HashedFile): Promise<string> {
    return Promise.resolve(this.pathOf(sha256));
  }

  async faultOf({ size, sha256 }: HashedFile): Promise<string | undefined> {
    try {
      return (await hashFile(this.pathOf(sha256), size)) === sha256 ? undefined : 'is not what was stored';
    } catch (thrown) {
      if (isTransient(thrown)) throw thrown;
      return 'is missing';
    }
  }

  async collect(isHeld: (digest: string) => boolean, now = Date.now()): Promise<number> {
    const named = await this.#named?.();
    if (named === undefined) return 0;
    let gone = 0;
    for await (const { digest, path } of this.all()) {
      if (named.has(digest) || isHeld(digest) || this.#pinned.has(digest)) continue;
      const found = await stat(path).catch(() => undefined);
      if (found === undefined || now - found.mtimeMs < LEFTOVER_MS) continue;
      await rm(path, { force: true });
      gone++;
    }
    return gone;
  }

  /** Whether it is there as it was stored. */
  async #isWhole({ sha256, size, isListing }: Source): Promise<boolean> {
    const path = this.pathOf(sha256, isListing);
    try {
      const found = await stat(path);
      return found.isFile() && found.size === size && (await hashFile(path, size)) === sha256;
    } catch (thrown) {
      if (isMissing(thrown)) return false;
      throw thrown;
    }
  }

  /** @returns the folder that has to be synced. */
  async #place({ sha256, from, isListing }: Source): Promise<string> {
    const target = this.pathOf(sha256, isListing);
    const folder = join(this.#folder, sha256.slice(0, 2));
    if ((await makeFolder(folder)) !== undefined) await syncFolder(this.#folder);
    const path = 'path' in from ? from.path : join(this.#staging, crypto.randomUUID());
    try {
      if ('text' in from) await this.#disk.createFile('object', path, (file) => file.writeFile(from.text));
      await this.#disk.move('object', path, target);
    } catch (thrown) {
      if ('text' in from) await rm(path, { force: true }).catch(() => undefined);
      throw thrown;
    }
    return folder;
  }

  #unpin(digest: string): void {
    const left = (this.#pinned.get(digest) ?? 1) - 1;
    if (left > 0) this.#pinned.set(digest, left);
    else this.#pinned.delete(digest);
  }
}
