/**
 * The database of a shelf that this process may only read: a copy of the one that lies there, in the state folder, or in a
 * folder that goes with the process. Several activators may read one shelf so.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from './durable-files.ts';
import { removeDatabase, stampOf, takeSnapshot } from './snapshot.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

/** Those that say what is on the shelf, each behind those that it refers to. */
const TABLES = ['package', 'ko', 'retained', 'state'];

export class ReadOnlyCopy implements AsyncDisposable {
  /** Where the copy is opened. */
  readonly file: string;
  readonly #source: string;
  readonly #folder: string;
  /** Whether it goes with this process. */
  readonly isTemporary: boolean;
  #database: SqliteDatabase | undefined;
  #seen: string | undefined;

  private constructor(source: string, folder: string, isTemporary: boolean) {
    this.#source = source;
    this.#folder = folder;
    this.isTemporary = isTemporary;
    this.file = join(folder, 'shelf.db');
  }

  /** @param folder undefined: one that is made, and goes at the end. */
  static async begin(source: string, folder: string | undefined): Promise<ReadOnlyCopy> {
    if (folder !== undefined) await makeFolder(folder);
    return new ReadOnlyCopy(source, folder ?? (await mkdtemp(join(tmpdir(), 'kgrid-shelf-'))), folder === undefined);
  }

  updateIn(database: SqliteDatabase): Promise<boolean> {
    this.#database = database;
    return this.update();
  }

  /** Brings the copy level with the original. @returns whether there was something new. */
  async update(): Promise<boolean> {
    const seen = await stampOf(this.#source);
    if (seen === this.#seen || this.#database === undefined) return false;
    const taken = join(this.#folder, `shelf-${crypto.randomUUID()}.db`);
    try {
      await takeSnapshot(this.#source, taken);
      await using source = await SqliteDatabase.open(taken);
      // A shelf on which there are only folders of people has no tables.
      const { rows } = await source.query(`SELECT 1 AS found FROM sqlite_schema WHERE name = 'ko'`);
      await source[Symbol.asyncDispose]();
      if (rows.length > 0) await this.#database.copyFrom(taken, TABLES);
    } finally {
      await removeDatabase(taken);
    }
    this.#seen = seen;
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isTemporary) await rm(this.#folder, { recursive: true, force: true });
  }
}
