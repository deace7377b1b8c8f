import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { binaryNotFound, importRefused, preconditionFailed } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { asWriteError, errnoOf, writing } from '../disk-errors.ts';
import type { KoPackage, ShelfEntry, Staging } from '../shelf.ts';
import type { DurableFiles } from '../store/durable-files.ts';
import { admit, requirePath } from './admit.ts';
import type { HashedFile, PackageContent } from './package-content.ts';

/** Makes a staged package the KO of an id. */
export type Publish = (id: KoId, staged: StagedPackage) => Promise<ShelfEntry>;

/** A package in a folder of its own below `staging/`. Each file is on the disk when its `write` returns. */
export class StagedPackage implements Staging {
  readonly files = new Map<string, HashedFile>();
  /** Holds the files of the package. */
  readonly content: string;
  /** Goes with the staging. */
  readonly folder: string;
  readonly #disk: DurableFiles;
  readonly #publish: Publish;
  replaced: string | undefined;
  #end: Promise<void> | undefined;

  private constructor(folder: string, disk: DurableFiles, publish: Publish) {
    this.folder = folder;
    this.content = join(folder, 'content');
    this.#disk = disk;
    this.#publish = publish;
  }

  static async create(folder: string, disk: DurableFiles, publish: Publish): Promise<StagedPackage> {
    const staged = new StagedPackage(folder, disk, publish);
    try {
      await writing(() => disk.createFolder('staging', staged.content));
      return staged;
    } catch (thrown) {
      await staged[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  async write(path: string, content: Readable | Buffer): Promise<void> {
    requirePath(path);
    const target = join(this.content, path);
    try {
      if (path.includes('/')) await mkdir(dirname(target), { recursive: true });
      this.files.set(path, { path, ...(await this.#create('file', target, content)) });
    } catch (thrown) {
      if (isOf(content, thrown)) throw thrown;
      if (isConflict(thrown))
        throw importRefused(`${escapeForMessage(path)} is in the package twice, or both as a file and as a folder.`);
      throw asWriteError(thrown);
    }
  }

  async read(path: string): Promise<Buffer> {
    if (!this.files.has(path)) throw binaryNotFound('package', path);
    return readFile(join(this.content, path));
  }

  async commit(id: KoId): Promise<ShelfEntry> {
    if (this.#end) throw new Error('This staging has ended');
    try {
      return await this.#publish(id, this);
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  /** The package of this id. @param there what has its place. @throws importRefused. */
  async admit(id: KoId, there?: ShelfEntry): Promise<PackageContent> {
    if (!this.files.has(METADATA_FILE)) throw importRefused(`The package has no ${METADATA_FILE}.`);
    return admit(id, await this.read(METADATA_FILE), this.files.values(), there);
  }

  [Symbol.asyncDispose](): Promise<void> {
    // What cannot be removed now goes at the next start.
    this.#end ??= this.#disk.remove('staging', this.folder).catch(() => undefined);
    return this.#end;
  }

  async #create(what: string, path: string, content: Readable | Buffer): Promise<Written> {
    if (this.#end) throw new Error('This staging has ended');
    try {
      return await this.#disk.createFile(what, path, (file) => fill(file, content));
    } catch (thrown) {
      // What was never begun to be read would else stay open.
      if (!Buffer.isBuffer(content)) content.destroy();
      if (!isConflict(thrown)) await rm(path, { force: true }).catch(() => undefined);
      throw thrown;
    }
  }
}

type Written = Pick<HashedFile, 'size' | 'sha256'>;

async function fill(file: FileHandle, content: Readable | Buffer): Promise<Written> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of Buffer.isBuffer(content) ? [content] : content) {
    const data = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk as string);
    size += data.length;
    hash.update(data);
    await file.writeFile(data);
  }
  return { size, sha256: hash.digest('hex') };
}

/** The source of the content failed, not the disk: the error is the caller's own. */
const isOf = (content: Readable | Buffer, thrown: unknown): boolean =>
  !Buffer.isBuffer(content) && content.errored === thrown;

const isConflict = (thrown: unknown): boolean => ['EEXIST', 'ENOTDIR', 'EISDIR'].includes(errnoOf(thrown) ?? '');

/** Copies a package, with other metadata where they are given. */
export async function copyFiles(from: KoPackage, to: Staging, metadata = from.entry.metadata): Promise<void> {
  for (const path of from.files.keys())
    await to.write(path, path === METADATA_FILE ? Buffer.from(metadata) : await from.stream(path));
}

/** @throws preconditionFailed unless the KO has one of these entity tags. */
export function requireMatch(entry: ShelfEntry | undefined, ifMatch: readonly string[] | undefined): void {
  if (ifMatch === undefined || (entry !== undefined && ifMatch.some((tag) => tag === entry.etag || tag === '*')))
    return;
  throw preconditionFailed('The knowledge object has changed meanwhile: its entity tag is not one of If-Match.');
}
