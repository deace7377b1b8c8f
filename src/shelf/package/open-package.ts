import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline, Readable, Transform } from 'node:stream';
import { koKey } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import {
  binaryNotFound,
  isOutOfHandles,
  packageDamaged,
  ServiceError,
  shelfNotReadable,
  tooManyOpen,
} from '../../lib/errors.ts';
import { errnoOf, isTransient } from '../disk-errors.ts';
import type { KoPackage, ShelfEntry } from '../shelf.ts';
import { DamagedObject } from '../store/objects.ts';
import { READ_REGULAR, readRegular, sha256, type HashedFile, type PackageContent } from './package-content.ts';

/** Up to this size a file is read and verified before its first byte is given out. */
const VERIFIED_FIRST_BYTES = 1024 * 1024;

/** Where the files of a package lie now. */
export interface PackagePlace {
  path: string;
  /** While the folder is being moved; never rejects. */
  moving?: Promise<void>;
  /** Where a file lies that is not at its path in the folder, or its bytes. */
  readonly locate?: (file: HashedFile) => Promise<string | Buffer>;
}

export interface OpenPackageOptions {
  readonly content: Pick<PackageContent, 'entry' | 'files'>;
  readonly place: PackagePlace;
  /** False for a folder that people may edit: it gives its present bytes. */
  readonly verify: boolean;
  readonly release: () => void;
  /** Hears what is wrong with the package when a read finds it out. */
  readonly onDamage?: (cause: string) => void;
}

/** A package on the disk that is held open. Files are opened when they are asked for. */
export class OpenPackage implements KoPackage {
  readonly #options: OpenPackageOptions;

  constructor(options: OpenPackageOptions) {
    this.#options = options;
  }

  get entry(): ShelfEntry {
    return this.#options.content.entry;
  }

  get files(): ReadonlyMap<string, HashedFile> {
    return this.#options.content.files;
  }

  digestOf(path: string): string | undefined {
    return this.#options.verify ? this.files.get(path)?.sha256 : undefined;
  }

  async read(path: string): Promise<Buffer> {
    const known = this.#file(path);
    if (path === METADATA_FILE) return Buffer.from(this.entry.metadata);
    const { verify } = this.#options;
    const bytes = await this.#at(path, (place) =>
      Buffer.isBuffer(place) ? place : readRegular(place, verify ? known.size : undefined),
    );
    if (verify && sha256(bytes) !== known.sha256) throw this.#changed(path);
    return bytes;
  }

  async stream(path: string, range?: { start: number; end: number }): Promise<Readable> {
    const known = this.#file(path);
    if (path === METADATA_FILE || (this.#options.verify && known.size <= VERIFIED_FIRST_BYTES)) {
      return wholeOrPart(await this.read(path), range);
    }
    const file = await this.#at<Buffer | FileHandle>(path, (place) =>
      Buffer.isBuffer(place) ? place : open(place, READ_REGULAR),
    );
    if (Buffer.isBuffer(file)) return wholeOrPart(file, range);
    const bytes = file.createReadStream(range);
    if (!this.#options.verify) return bytes;
    if ((await file.stat()).size !== known.size) {
      bytes.destroy();
      throw this.#changed(path);
    }
    return range ? bytes : this.#verified(bytes, known);
  }

  release(): void {
    this.#options.release();
  }

  /** Keeps the last chunk back until the digest is known, so that a changed file never arrives whole. */
  #verified(bytes: Readable, known: HashedFile): Readable {
    const hash = createHash('sha256');
    let kept: Buffer | undefined;
    const check = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const before = kept;
        kept = chunk;
        hash.update(chunk);
        done(null, before);
      },
      flush: (done) => (hash.digest('hex') === known.sha256 ? done(null, kept) : done(this.#changed(known.path))),
    });
    return pipeline(bytes, check, () => undefined);
  }

  #file(path: string): HashedFile {
    const known = this.files.get(path);
    if (known === undefined) throw binaryNotFound(koKey(this.entry.id), path);
    return known;
  }

  /** Again where the folder was moved meanwhile. */
  async #at<T>(path: string, use: (place: string | Buffer) => T | Promise<T>): Promise<T> {
    const { place } = this.#options;
    for (;;) {
      const folder = place.path;
      try {
        return await this.#readVerified(path, async () => use((await this.#locate(path)) ?? join(folder, path)));
      } catch (thrown) {
        await place.moving;
        if (place.path === folder) throw thrown;
      }
    }
  }

  async #locate(path: string): Promise<string | Buffer | undefined> {
    try {
      return await this.#options.place.locate?.(this.#file(path));
    } catch (thrown) {
      if (thrown instanceof DamagedObject || thrown instanceof ServiceError || errnoOf(thrown) !== undefined)
        throw thrown;
      const id = koKey(this.entry.id);
      throw shelfNotReadable(`The file ${path} of ${id} cannot be read at the moment; try again later.`, thrown);
    }
  }

  async #readVerified<T>(path: string, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (thrown) {
      if (thrown instanceof DamagedObject) throw this.#damaged(path, thrown.message, thrown);
      const errno = errnoOf(thrown);
      if (errno === undefined) throw thrown;
      if (isOutOfHandles(thrown)) throw tooManyOpen(thrown);
      if (isTransient(thrown)) {
        const id = koKey(this.entry.id);
        throw shelfNotReadable(
          `The file ${path} of ${id} cannot be read at the moment (${errno}); try again later.`,
          thrown,
        );
      }
      throw this.#damaged(path, errno === 'ENOENT' ? 'is missing' : `cannot be read (${errno})`, thrown);
    }
  }

  #changed(path: string): ServiceError {
    return this.#damaged(path, 'is not what was stored');
  }

  #damaged(path: string, how: string, cause?: unknown): ServiceError {
    this.#options.onDamage?.(`its file ${path} ${how}; import it again`);
    return packageDamaged(`The file ${path} of ${koKey(this.entry.id)} ${how}; import the knowledge object again.`, {
      cause,
    });
  }
}

const wholeOrPart = (bytes: Buffer, range?: { start: number; end: number }): Readable =>
  Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes], { objectMode: false });
