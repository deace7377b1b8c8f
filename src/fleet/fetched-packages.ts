/** What installations of packages fetched, kept in the database of the fleet: a package is fetched once for all nodes. */
import { copyFile, lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MOST_SHARED_BYTES, type Fetched, type SharedFetches } from '../engines/supervisor/packages/shared-fetches.ts';
import { messageOf } from '../lib/errors.ts';
import { hashFile, type HashedFile } from '../shelf/package/package-content.ts';
import type { Database } from '../shelf/store/database.ts';
import type { Objects } from '../shelf/store/objects.ts';
import { parseFiles, renderFiles } from '../shelf/store/package-listing.ts';

export interface FetchedPackagesOptions {
  readonly database: Database;
  readonly objects: Pick<Objects, 'put' | 'locate'>;
  /** Does something that one node at a time is to do. */
  readonly alone: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  readonly onProblem: (cause: string) => void;
}

export class FetchedPackages implements SharedFetches {
  readonly #options: FetchedPackagesOptions;

  constructor(options: FetchedPackagesOptions) {
    this.#options = options;
  }

  async obtain(key: string, folder: string, fetch: () => Promise<Fetched | undefined>): Promise<string | undefined> {
    const there = await this.#take(key, folder);
    // Without the database each node fetches for itself.
    if (there === 'unknown') return this.#fetch(fetch);
    if (there !== undefined) return there.note;
    return this.#options.alone(`fetch ${key}`, async () => {
      const since = await this.#take(key, folder);
      if (typeof since === 'object') return since.note;
      return this.#fetch(fetch, (fetched) => this.#keep(key, fetched));
    });
  }

  async #fetch(
    fetch: () => Promise<Fetched | undefined>,
    keep: (fetched: Fetched) => Promise<void> = () => Promise.resolve(),
  ): Promise<undefined> {
    const fetched = await fetch();
    if (fetched !== undefined)
      await keep(fetched).catch((thrown: unknown) => this.#options.onProblem(messageOf(thrown)));
  }

  /** `unknown` where it cannot be found out now. */
  async #take(key: string, folder: string): Promise<{ readonly note: string } | 'unknown' | undefined> {
    const { database, objects, onProblem } = this.#options;
    const { schema, now } = database.dialect;
    try {
      const { rows } = await database.query<{ note: string; files: string }>(
        `UPDATE ${schema}fetched SET at = ${now} WHERE id = $1 RETURNING note, files`,
        [key],
      );
      const [row] = rows;
      if (row === undefined) return undefined;
      await mkdir(folder, { recursive: true });
      for (const file of parseFiles(row.files)) {
        const found = await objects.locate(file);
        const target = join(folder, file.path);
        await (typeof found === 'string' ? copyFile(found, target) : writeFile(target, found));
      }
      return { note: row.note };
    } catch (thrown) {
      onProblem(messageOf(thrown));
      await rm(folder, { recursive: true, force: true });
      return 'unknown';
    }
  }

  /** Files before the row that names them. */
  async #keep(key: string, { note, files }: Fetched): Promise<void> {
    const { database, objects } = this.#options;
    const { schema, now } = database.dialect;
    const hashed: (HashedFile & { readonly from: string })[] = [];
    for (const { name, path } of files) {
      const { size } = await lstat(path);
      hashed.push({ path: name, size, sha256: await hashFile(path, size), from: path });
    }
    if (hashed.reduce((sum, { size }) => sum + size, 0) > MOST_SHARED_BYTES) return;
    const sources = hashed.map(({ sha256, size, from }) => ({ sha256, size, from: { path: from } }));
    const stored = await objects.put(sources, () => Promise.resolve(true));
    try {
      await database.query(
        `INSERT INTO ${schema}fetched (id, note, files, at) VALUES ($1, $2, $3, ${now})
          ON CONFLICT (id) DO UPDATE SET note = excluded.note, files = excluded.files, at = excluded.at`,
        [key, note, renderFiles(hashed)],
      );
    } finally {
      stored.release();
    }
  }
}
