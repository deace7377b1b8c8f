/** A database in a file, by SQLite. Its only writer is a thread of this process; nothing here waits for the disk. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { toError } from '../../../lib/errors.ts';
import { FairQueue } from '../../../lib/fair-queue.ts';
import type { Database, Dialect, Following, Look, Query, Result, Row, Transaction, Value } from '../database.ts';
import type { Answer, Job, ThreadData } from './thread.ts';

/** An error of SQLite, under the name that the system has for it. */
export class SqliteError extends Error {
  /** Such as `ENOSPC`. */
  readonly code: string;
  /** SQLite's own. */
  readonly number: number;

  constructor(message: string, number: number) {
    super(message);
    this.number = number;
    this.code = SYSTEM_CODES[number & PRIMARY] ?? 'ESQLITE';
  }

  /** Whether the file is no database, or is one that was damaged. */
  get isDamage(): boolean {
    return [CORRUPT, NOT_A_DATABASE].includes(this.number & PRIMARY);
  }
}

const PRIMARY = 0xff;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;
const SYSTEM_CODES: Readonly<Record<number, string>> = {
  5: 'EBUSY',
  8: 'EROFS',
  10: 'EIO',
  13: 'ENOSPC',
  14: 'ENOENT',
  23: 'EACCES',
};

export const SQLITE: Dialect = {
  schema: '',
  now: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  texts: (parameter) => `json_each(${parameter})`,
  types: { text: 'TEXT', integer: 'INTEGER', bytes: 'BLOB' },
  tableOptions: ' STRICT',
  tables: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
  ownTables: [],
  // A transaction that writes is alone from its begin.
  forUpdate: '',
};

interface Waiting {
  readonly resolve: (result: Result<Row>) => void;
  readonly reject: (error: Error) => void;
}

export interface SqliteOptions {
  readonly isReadOnly?: boolean;
  /** For tests: called with the first words of each statement of a transaction before it. What it throws fails it. */
  readonly onStep?: ((step: string) => void | Promise<void>) | undefined;
}

export class SqliteDatabase implements Database {
  readonly dialect = SQLITE;
  readonly isShared = false;
  readonly label: string;
  readonly #thread: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #transactions = new FairQueue({ perKey: 1 });
  readonly #onStep: SqliteOptions['onStep'];
  #last = 0;
  #ended: Error | undefined;

  private constructor(data: ThreadData, onStep: SqliteOptions['onStep']) {
    this.#onStep = onStep;
    this.label = data.file;
    this.#thread = new Worker(new URL('thread.ts', import.meta.url), {
      workerData: data,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#thread.on('message', (answer: Answer) => this.#take(answer));
    this.#thread.on('error', (error: unknown) => this.#end(error));
    this.#thread.on('exit', () => this.#end(new Error('the thread of the database has ended')));
    // Only what waits for an answer keeps the process.
    this.#thread.unref();
  }

  /** Makes the file where it is missing. @throws SqliteError. */
  static async open(file: string, { isReadOnly = false, onStep }: SqliteOptions = {}): Promise<SqliteDatabase> {
    const database = new SqliteDatabase({ file, isReadOnly }, onStep);
    try {
      await database.query('SELECT 1');
      return database;
    } catch (thrown) {
      await database[Symbol.asyncDispose]();
      throw asSqliteError(thrown);
    }
  }

  readonly query: Query = <T extends Row>(sql: string, values: readonly Value[] = []) =>
    this.#ask<T>('single', sql, values);

  /** Each is exclusive. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#transactions.run('', async () => {
      let failed: { readonly thrown: unknown } | undefined;
      const query: Query = async <R extends Row>(sql: string, values: readonly Value[] = []) => {
        try {
          await this.#onStep?.(firstWordsOf(sql));
          return await this.#ask<R>('transaction', sql, values);
        } catch (thrown) {
          failed = { thrown };
          throw thrown;
        }
      };
      await query('BEGIN IMMEDIATE');
      try {
        const result = await work({ query, tellOthers: () => undefined });
        // A statement that failed and was passed over would leave half of the work.
        if (failed !== undefined) throw toError(failed.thrown);
        await query('COMMIT');
        return result;
      } catch (thrown) {
        // SQLite may have done so itself, as on a full disk.
        await this.#ask('transaction', 'ROLLBACK', []).catch(() => undefined);
        throw thrown;
      }
    });
  }

  changeTables<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.transaction(({ query }) => work(query));
  }

  follow(look: Look): Following {
    let problem: Error | undefined;
    return {
      get problem() {
        return problem;
      },
      look: async () => {
        problem = undefined;
        await look(this.query).catch((thrown: unknown) => {
          problem = toError(thrown);
          throw problem;
        });
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  /** Errors of a file are those of the system. */
  toServiceError(thrown: unknown): unknown {
    return thrown;
  }

  mayPass(thrown: unknown): boolean {
    return thrown instanceof SqliteError && !thrown.isDamage;
  }

  tidy(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Takes the rows of these tables from the database in another file, in place of those that are here. What is active is
   * this database's own: it may be packages that the other has no more, and its generations go on.
   */
  copyFrom(file: string, tables: readonly string[]): Promise<void> {
    return this.#transactions.run('', async () => {
      const ask = (sql: string, values: readonly Value[] = []) => this.#ask('transaction', sql, values);
      await ask('ATTACH DATABASE $1 AS source', [file]);
      try {
        await ask('PRAGMA foreign_keys = OFF');
        await ask('BEGIN IMMEDIATE');
        const { rows } = await ask('SELECT generation FROM main.state');
        for (const table of tables.toReversed()) await ask(`DELETE FROM main.${table}`);
        for (const table of tables) await ask(`INSERT INTO main.${table} SELECT * FROM source.${table}`);
        await ask('UPDATE main.state SET generation = max(generation, $1)', [rows[0]?.['generation'] ?? 0]);
        await ask('COMMIT');
      } catch (thrown) {
        await ask('ROLLBACK').catch(() => undefined);
        throw thrown;
      } finally {
        await ask('PRAGMA foreign_keys = ON').catch(() => undefined);
        await ask('DETACH DATABASE source').catch(() => undefined);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transactions.idle();
    if (this.#ended !== undefined) return;
    this.#thread.ref();
    const ended = once(this.#thread, 'exit');
    await this.#thread.terminate();
    await ended;
  }

  async #ask<T extends Row>(by: Job['by'], sql: string, values: readonly Value[]): Promise<Result<T>> {
    if (this.#ended !== undefined) throw this.#ended;
    const number = ++this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<Result<Row>>();
    if (this.#waiting.size === 0) this.#thread.ref();
    this.#waiting.set(number, { resolve, reject });
    const job: Job = { number, by, sql: sql.replaceAll(PARAMETER, '?$1'), values };
    this.#thread.postMessage(job);
    return (await promise) as Result<T>;
  }

  #take(answer: Answer): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if (this.#waiting.size === 0) this.#thread.unref();
    if ('problem' in answer) waiting?.reject(new SqliteError(answer.problem, answer.code));
    else waiting?.resolve(answer);
  }

  #end(error: unknown): void {
    this.#ended ??= asSqliteError(error);
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}

const PARAMETER = /\$(\d+)/g;

const firstWordsOf = (sql: string): string => sql.trim().split(/\s+/).slice(0, 3).join(' ');

/** An error that ended the thread, as where the file cannot be opened. */
function asSqliteError(thrown: unknown): Error {
  if (thrown instanceof SqliteError) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return 'errcode' in error ? new SqliteError(error.message, Number(error.errcode)) : error;
}
