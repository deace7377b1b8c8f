import { Readable } from 'node:stream';
import { koKey } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { binaryNotFound, packageDamaged, shelfNotReadable } from '../../lib/errors.ts';
import type { HashedFile } from '../package/package-content.ts';
import type { KoPackage, ShelfEntry } from '../shelf.ts';
import { DamagedBlob, type PackageFiles } from './package-files.ts';

/** Bytes; up to this a file is read whole. */
const READ_WHOLE = 1024 * 1024;

export interface FetchedPackageOptions {
  readonly entry: ShelfEntry;
  readonly listed: readonly HashedFile[];
  readonly from: PackageFiles;
  /** Hears what is wrong with the package when a read finds it out. */
  readonly onDamage: (cause: string) => void;
}

/** A package of the database that is held open. Its files never change, and are fetched when they are asked for. */
export class FetchedPackage implements KoPackage {
  readonly files: ReadonlyMap<string, HashedFile>;
  readonly #options: FetchedPackageOptions;

  constructor(options: FetchedPackageOptions) {
    this.#options = options;
    const sorted = options.listed.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    this.files = new Map(sorted.map((file) => [file.path, file]));
  }

  get entry(): ShelfEntry {
    return this.#options.entry;
  }

  digestOf(path: string): string | undefined {
    return this.files.get(path)?.sha256;
  }

  async read(path: string): Promise<Buffer> {
    const file = this.#file(path);
    if (path === METADATA_FILE) return Buffer.from(this.entry.metadata);
    return this.#explained(path, () => this.#options.from.read(file));
  }

  async stream(path: string, range?: { start: number; end: number }): Promise<Readable> {
    const file = this.#file(path);
    const whole =
      path === METADATA_FILE || file.size <= READ_WHOLE
        ? await this.read(path)
        : await this.#explained(path, () => this.#options.from.open(file));
    if (whole === undefined) throw new Error(`${path} was not opened`);
    if (!Buffer.isBuffer(whole)) return whole.createReadStream(range);
    return Readable.from([range ? whole.subarray(range.start, range.end + 1) : whole], { objectMode: false });
  }

  release(): void {
    // Blobs that nothing refers to stay in the database for longer than a package is held.
  }

  #file(path: string): HashedFile {
    const known = this.files.get(path);
    if (known === undefined) throw binaryNotFound(koKey(this.entry.id), path);
    return known;
  }

  async #explained<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const id = koKey(this.entry.id);
      if (!(thrown instanceof DamagedBlob))
        throw shelfNotReadable(`The file ${path} of ${id} cannot be read at the moment; try again later.`, thrown);
      this.#options.onDamage(`its file ${path} ${thrown.message}; import it again`);
      throw packageDamaged(`The file ${path} of ${id} ${thrown.message}; import the knowledge object again.`, {
        cause: thrown,
      });
    }
  }
}
