/** A copy of a database, as it is at one moment, while another process may write it. */
import { existsSync } from 'node:fs';
import { copyFile, rm, stat, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMissing } from '../disk-errors.ts';
import { SqliteDatabase, SqliteError } from './sqlite/sqlite-database.ts';
import { makeFolder } from './durable-files.ts';

const PARTS = ['', '-wal'];
const MOST_ATTEMPTS = 20;

/** What differs once the database was written. */
const stampOf = async (file: string): Promise<string> =>
  (await Promise.all(PARTS.map((part) => stampOfFile(file + part)))).join(' ');

/** Where there is no database, there is no copy. @param target is not there yet; it may get a `-wal` beside it. */
export async function takeSnapshot(source: string, target: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    // Without that file nobody writes, or what is written stands in the database itself.
    if (existsSync(`${source}-wal`) && (await isVacuumed(source, target))) return;
    const before = await stampOf(source);
    for (const part of PARTS)
      await copyFile(source + part, target + part).catch((thrown: unknown) => {
        if (!isMissing(thrown)) throw thrown;
      });
    if (before === (await stampOf(source))) return;
    await removeDatabase(target);
    if (attempt === MOST_ATTEMPTS)
      throw new Error('the database of the shelf is written all the time: try again later');
  }
}

async function removeDatabase(file: string): Promise<void> {
  for (const part of [...PARTS, '-shm']) await rm(file + part, { force: true });
}

/** @returns false where this process may not read it while others write, as on a disk that is read-only. */
async function isVacuumed(source: string, target: string): Promise<boolean> {
  try {
    await using database = await SqliteDatabase.open(source, { isReadOnly: true });
    await database.query('VACUUM INTO $1', [target]);
    return true;
  } catch (thrown) {
    await removeDatabase(target);
    if (!(thrown instanceof SqliteError) || thrown.isDamage) throw thrown;
    return false;
  }
}

async function stampOfFile(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found === undefined ? 'none' : `${String(found.size)} ${String(found.mtimeNs)} ${String(found.ino)}`;
}

/** Those that say what is on the shelf, each behind those that it refers to. */
const TABLES = ['package', 'ko', 'retained', 'state'];

/**
 * The database of a shelf that this process may only read: a copy of the one that lies there, in the state folder, or in a
 * folder that goes with the process. Several activators may read one shelf so.
 */
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
