/** The files of packages: first on the local disk, then in the database. */
import { packageDigest, sha256, type HashedFile } from '../package/package-content.ts';
import type { BlobCache } from './blob-cache.ts';
import type { FileLists } from './file-lists.ts';
import type { Row } from './connection.ts';
import type { Database } from './database.ts';

/** What the database has is not what was stored. */
export class DamagedBlob extends Error {}

interface FileRow extends Row {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly bytes: Buffer | null;
}

/** Bytes; files up to this size come with the list of a package. */
const SMALL = 64 * 1024;

export class PackageFiles {
  readonly #database: Database;
  readonly #cache: BlobCache;
  readonly #lists: FileLists;
  readonly #fetching = new Map<string, Promise<Buffer>>();

  constructor(database: Database, cache: BlobCache, lists: FileLists) {
    this.#database = database;
    this.#cache = cache;
    this.#lists = lists;
  }

  /** All files of a package by its digest; undefined where the database has none. @throws DatabaseError; DamagedBlob. */
  async list(digest: string): Promise<readonly HashedFile[] | undefined> {
    const known = await this.#lists.read(digest);
    if (known !== undefined) return known;
    const { schema } = this.#database;
    const { rows } = await this.#database.query<FileRow>(
      `SELECT f.path, f.size, encode(f.blob, 'hex') AS sha256,
         CASE WHEN f.size <= $2 THEN (SELECT c.bytes FROM ${schema}.blob_chunk c WHERE c.digest = f.blob AND c.number = 0) END AS bytes
       FROM ${schema}.package_file f WHERE f.package = $1 ORDER BY f.path`,
      [digest, SMALL],
    );
    if (rows.length === 0) return undefined;
    const files = rows.map(({ path, size, sha256 }) => ({ path, size, sha256 }));
    if (packageDigest(files) !== digest) throw new DamagedBlob('the list of its files is not what was stored');
    for (const { sha256: name, bytes } of rows)
      if (bytes !== null && sha256(bytes) === name) await this.#cache.keep(name, bytes);
    await this.#lists.keep(digest, files);
    return files;
  }

  keepList(digest: string, files: readonly HashedFile[]): Promise<void> {
    return this.#lists.keep(digest, files);
  }

  /** The bytes of a file. @throws DatabaseError; DamagedBlob. */
  async read(file: Pick<HashedFile, 'sha256' | 'size'>): Promise<Buffer> {
    return (await this.#cache.read(file.sha256)) ?? (await this.#fetch(file));
  }

  /** The file on the disk, or its bytes where the disk takes none. */
  async open(file: Pick<HashedFile, 'sha256' | 'size'>): Promise<Awaited<ReturnType<BlobCache['open']>> | Buffer> {
    const here = await this.#cache.open(file.sha256, file.size);
    if (here !== undefined) return here;
    const bytes = await this.#fetch(file);
    return (await this.#cache.open(file.sha256, file.size)) ?? bytes;
  }

  keep(digest: string, bytes: Buffer): Promise<void> {
    return this.#cache.keep(digest, bytes);
  }

  /** Several who ask at a time share one fetch. */
  async #fetch(file: Pick<HashedFile, 'sha256' | 'size'>): Promise<Buffer> {
    const running = this.#fetching.get(file.sha256);
    if (running !== undefined) return running;
    const fetched = this.#fetchNow(file).finally(() => this.#fetching.delete(file.sha256));
    this.#fetching.set(file.sha256, fetched);
    return fetched;
  }

  async #fetchNow({ sha256: digest, size }: Pick<HashedFile, 'sha256' | 'size'>): Promise<Buffer> {
    const sql = `SELECT bytes FROM ${this.#database.schema}.blob_chunk WHERE digest = decode($1, 'hex') AND number = $2`;
    const chunks: Buffer[] = [];
    for (let length = 0; length < size;) {
      const [row] = (await this.#database.query<{ bytes: Buffer }>(sql, [digest, chunks.length])).rows;
      if (row === undefined || row.bytes.length === 0) throw new DamagedBlob('is missing');
      chunks.push(row.bytes);
      length += row.bytes.length;
    }
    const bytes = Buffer.concat(chunks);
    if (sha256(bytes) !== digest) throw new DamagedBlob('is not what was stored');
    await this.#cache.keep(digest, bytes);
    return bytes;
  }
}
