/**
 * The one thread that has the database file open: each message is a statement, each answer its rows or its error. A
 * transaction has a connection of its own, so that reads beside it see what was committed last.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { Row, Value } from '../database.ts';

export interface Job {
  readonly number: number;
  /** Which connection: that of the transaction, or that for single statements. */
  readonly by: 'transaction' | 'single';
  readonly sql: string;
  readonly values: readonly Value[];
}

export type Answer =
  | { readonly number: number; readonly rows: readonly Row[]; readonly count: number }
  | { readonly number: number; readonly problem: string; readonly code: number };

export interface ThreadData {
  readonly file: string;
  readonly isReadOnly: boolean;
}

/** Statements that are kept ready for each connection. */
const MOST_STATEMENTS = 200;
/** Milliseconds for which a program beside the service, such as `sqlite3`, may hold the file. */
const BUSY_MS = 10_000;

class Connection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor({ file, isReadOnly }: ThreadData) {
    this.#database = new DatabaseSync(file, {
      readOnly: isReadOnly,
      enableForeignKeyConstraints: true,
      timeout: BUSY_MS,
    });
    // What is told as done survives the loss of power.
    if (!isReadOnly) this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  }

  run(sql: string, values: readonly Value[]): { rows: readonly Row[]; count: number } {
    const statement = this.#prepared(sql);
    if (statement.columns().length === 0) return { rows: [], count: Number(statement.run(...values).changes) };
    const rows = statement.all(...values) as Row[];
    return { rows, count: rows.length };
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    if (this.#statements.size >= MOST_STATEMENTS) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }
}

const data = workerData as ThreadData;
const connections = { transaction: new Connection(data), single: new Connection(data) };

parentPort?.on('message', ({ number, by, sql, values }: Job) => {
  parentPort?.postMessage(answerTo(number, by, sql, values));
});

function answerTo(number: number, by: Job['by'], sql: string, values: readonly Value[]): Answer {
  try {
    return { number, ...connections[by].run(sql, values) };
  } catch (thrown) {
    const code = thrown instanceof Error && 'errcode' in thrown ? Number(thrown.errcode) : 0;
    return { number, problem: thrown instanceof Error ? thrown.message : String(thrown), code };
  }
}
