/**
 * The contents of a shelf in a folder: each file once, named by its sha256, written and synced before the row that names
 * it. What no row names is garbage, which `collect` takes away.
 */
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../disk-errors.ts';
import { makeFolder, syncFolder, type DurableFiles } from './durable-files.ts';
import { hashFile } from '../package/hash-file.ts';

/** Something to be stored: a file that is on the disk already and is moved away, or a text. */
export interface Source {
  readonly sha256: string;
  readonly size: number;
  readonly from: { readonly path: string } | { readonly text: string };
  /** True for the listing of a package. */
  readonly isListing?: boolean;
}

export interface FoundObject {
  readonly digest: string;
  /** Of the listing of a package: `package` where it is on the shelf, `retained` where it was deleted or replaced. */
  readonly listing: string | undefined;
  readonly path: string;
}

/** What was stored just now, and is named by no row yet. */
export interface Stored {
  /** Takes away what came with this and nothing else names. Never rejects. */
  discard(): Promise<void>;
  /** From now on rows say what stays. */
  release(): void;
}

/** Listings say in their names whether their package is on the shelf or was deleted or replaced. */
const NAME = /^([0-9a-f]{64})(?:\.(package|retained))?$/;
/** "An object that no row names is deleted when it is older than an hour." */
const LEFTOVER_MS = 3_600_000;

export class ObjectsFolder {
  readonly #folder: string;
  readonly #staging: string;
  readonly #disk: DurableFiles;
  /** Those that are on their way into rows, with how often. */
  readonly #pinned = new Map<string, number>();

  /** `staging`: a folder on the same disk for files that are being written. */
  constructor(folder: string, staging: string, disk: DurableFiles) {
    this.#folder = folder;
    this.#staging = staging;
    this.#disk = disk;
  }

  pathOf(digest: string, isListing = false): string {
    return join(this.#folder, digest.slice(0, 2), isListing ? `${digest}.package` : digest);
  }

  /** Notes that a package is on the shelf, or is no longer. Never rejects: only a database that is made again asks. */
  async mark(listing: string, isOnShelf: boolean): Promise<void> {
    const [current, retained] = [this.pathOf(listing, true), `${this.pathOf(listing)}.retained`];
    const [from, to] = isOnShelf ? [retained, current] : [current, retained];
    const now = new Date();
    await rename(from, to).catch(() => undefined);
    await utimes(to, now, now).catch(() => undefined);
  }

  /** Durable when this returns. What is there already and whole is not written again. @throws errors of the system. */
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

  /**
   * Deletes what is named by nothing and is old enough that nobody is about to name it.
   * @param isNamed by a row, or by a package that somebody has open. @returns how many.
   */
  async collect(isNamed: (digest: string) => boolean, now = Date.now()): Promise<number> {
    let gone = 0;
    for await (const { digest, path } of this.all()) {
      if (isNamed(digest) || this.#pinned.has(digest)) continue;
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
