/** The database of a fleet: statements, transactions, and what can go wrong between here and there. */
import { setTimeout as wait } from 'node:timers/promises';
import { FairQueue } from '../../../lib/fair-queue.ts';
import type {
  Database,
  Dialect,
  Following,
  Look,
  Query,
  Result,
  Row,
  Transaction,
  TransactionOptions,
  Value,
} from '../database.ts';
import type { Connection, PasswordSources } from './connection.ts';
import { Connections } from './connections.ts';
import { asServiceError, DatabaseError, isTransient, toDatabaseError } from './database-error.ts';
import { parseLocation, schemaName, type DatabaseLocation } from './location.ts';
import { DatabaseFollower } from './database-follower.ts';

export interface PostgresOptions {
  /** Name of the fleet, which is that of its schema. */
  readonly fleet: string;
  readonly passwords?: PasswordSources | undefined;
  /** Connections, beside those that are opened apart. */
  readonly most?: number | undefined;
  /** Milliseconds that a statement may take; by default 15,000. */
  readonly statementTimeout?: number | undefined;
  /** For tests: called before each statement of a transaction, with its first words. */
  readonly onStep?: ((step: string) => void) | undefined;
  /** Aborted once the service stops, which then waits for no attempt to connect. */
  readonly stopped?: AbortSignal | undefined;
}

const STATEMENT_TIMEOUT_MS = 15_000;
/** Of a node under load; one of them is always left for statements that tell that it lives. */
const MOST_CONNECTIONS = 3;
/** Times that a transaction is begun anew after a conflict with others. */
const MOST_ATTEMPTS = 8;
/** Times that what met a broken connection is tried on another. */
const MOST_RECONNECTS = 2;
/** For which a server may be away until it is said that nobody knows whether a change was done. */
const LONGEST_LOOK_UP_MS = 5000;
const PAUSE_OF_LOOK_UP_MS = 250;
/** A change is looked up seconds after it, or never. */
const CHANGES_FOR_MS = 3_600_000;
/** Milliseconds for a statement that changes tables, or waits for another node that does. */
const LONGEST_CHANGE_OF_TABLES_MS = 3_600_000;
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '23503']);

export class PostgresDatabase implements Database {
  readonly isShared = true;
  readonly dialect: Dialect;
  readonly location: DatabaseLocation;
  readonly fleet: string;
  /** The channel of notifications. */
  readonly channel: string;
  /** Hears that a statement was refused, since the user may not or nothing can be written. */
  onRefused: (() => void) | undefined;
  readonly #connections: Connections;
  readonly #timeout: number;
  readonly #transactions: FairQueue;
  readonly #onStep: ((step: string) => void) | undefined;

  /** Opens no connection yet. @throws startRefused. */
  constructor(location: string, options: PostgresOptions) {
    const { fleet, passwords = {}, most = MOST_CONNECTIONS, statementTimeout, onStep, stopped } = options;
    this.#onStep = onStep;
    this.location = parseLocation(location, passwords.environment?.['USER']);
    this.fleet = fleet;
    this.dialect = dialectOf(schemaName(fleet));
    this.channel = `"kgrid:${fleet}"`;
    this.#timeout = statementTimeout ?? STATEMENT_TIMEOUT_MS;
    this.#transactions = new FairQueue({ limit: Math.max(1, most - 1) });
    const name = `kgrid ${fleet}`;
    this.#connections = new Connections({ location: this.location, passwords, name, most, stopped });
  }

  get label(): string {
    return this.location.label;
  }

  /** A connection of one's own, beside the small pool. @throws DatabaseError. */
  connect(): Promise<Connection> {
    return this.#connections.openApart();
  }

  /**
   * One statement that does the same when it is done twice: where the connection breaks, it is done again on another.
   * @throws DatabaseError.
   */
  query = async <T extends Row = Row>(
    sql: string,
    values: readonly Value[] = [],
    timeout = this.#timeout,
  ): Promise<Result<T>> => {
    for (let attempt = 0; ; attempt++) {
      const connection = await this.#connections.take();
      try {
        return await connection.statement<T>(sql, values, timeout);
      } catch (thrown) {
        const error = this.#noted(thrown);
        if (error.fault !== 'unreachable' || !error.isBroken || attempt >= MOST_RECONNECTS) throw error;
      } finally {
        connection.release(connection.isBroken);
      }
    }
  };

  /**
   * All of the work or nothing. It may run several times, after conflicts with other transactions and on connections
   * that break; where one breaks at the commit, it is found out whether that was done.
   * @throws DatabaseError; what the work throws, after which nothing is changed.
   */
  transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    { isExclusive = false }: TransactionOptions = {},
  ): Promise<T> {
    return this.#transactions.run('', () => this.#retried(work, isExclusive));
  }

  async #retried<T>(work: (transaction: Transaction) => Promise<T>, isExclusive: boolean): Promise<T> {
    const [mostConflicts, mostBroken] = [MOST_ATTEMPTS, MOST_RECONNECTS];
    let [conflicts, broken] = [0, 0];
    for (;;) {
      const change = crypto.randomUUID();
      try {
        return await this.#once(change, work, isExclusive);
      } catch (thrown) {
        if (thrown instanceof Unsure) {
          if (await this.#wasDone(change)) return thrown.result as T;
        } else if (!(thrown instanceof DatabaseError)) throw thrown;
        const error = this.#noted(thrown instanceof Unsure ? thrown.cause : thrown);
        const isConflict = CONFLICTS.has(error.sqlState ?? '') && ++conflicts < mostConflicts;
        const isBroken = error.isBroken && error.fault === 'unreachable' && ++broken <= mostBroken;
        if (!isConflict && !isBroken) throw error;
        if (isConflict) await wait(Math.random() * 10 * 2 ** conflicts);
      }
    }
  }

  /** Looks for the host that can be written to before the next statement. */
  findAgain(): void {
    this.#connections.findAgain();
  }

  /** @throws DatabaseError, saying what an administrator is to do where the user may not. */
  async changeTables<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const name = schemaName(this.fleet);
    const connection = await this.connect();
    let failed: unknown;
    const query: Query = async <R extends Row = Row>(sql: string, values: readonly Value[] = []) => {
      try {
        return await connection.statement<R>(sql, values, LONGEST_CHANGE_OF_TABLES_MS);
      } catch (thrown) {
        failed = thrown;
        throw thrown;
      }
    };
    try {
      await query(
        `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(hashtextextended('kgrid:${name}', 0));
         DO $$ BEGIN IF to_regnamespace('"${name}"') IS NULL THEN CREATE SCHEMA "${name}"; END IF; END $$`,
      );
      const result = await work(query);
      // The server would take a commit for a rollback, and say nothing.
      if (failed !== undefined) throw toDatabaseError(failed);
      await query('COMMIT');
      return result;
    } catch (thrown) {
      if (!(thrown instanceof DatabaseError) || thrown.fault !== 'permission') throw thrown;
      const there = await this.query('SELECT 1 WHERE to_regnamespace($1) IS NOT NULL', [`"${name}"`]);
      const remedy =
        there.count > 0
          ? 'let the owner of the schema run kgrid schema prepare'
          : `let an administrator of the database run CREATE SCHEMA "${name}" AUTHORIZATION "${this.location.user}"`;
      throw new DatabaseError('permission', `${thrown.message}: ${remedy}`, { cause: thrown });
    } finally {
      // What was not committed is undone.
      await connection.end();
    }
  }

  toServiceError(thrown: unknown): unknown {
    return asServiceError(thrown);
  }

  mayPass(thrown: unknown): boolean {
    return thrown instanceof DatabaseError && isTransient(thrown);
  }

  async tidy(): Promise<void> {
    await this.query(
      `DELETE FROM ${this.dialect.schema}change WHERE at < ${this.dialect.now} - ${String(CHANGES_FOR_MS)}`,
    );
  }

  follow(look: Look, onWarning: (message: string, cause?: unknown) => void): Following {
    return new DatabaseFollower({ database: this, look, onWarning });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections.close();
  }

  async #once<T>(change: string, work: (transaction: Transaction) => Promise<T>, isExclusive: boolean): Promise<T> {
    const { schema } = this.dialect;
    const connection = await this.#connections.take();
    try {
      let failed: unknown;
      let tells = false;
      const query: Query = async <R extends Row = Row>(sql: string, values: readonly Value[] = []) => {
        try {
          this.#onStep?.(firstWordsOf(sql));
          return await connection.statement<R>(sql, values, this.#timeout);
        } catch (thrown) {
          failed = thrown;
          throw thrown;
        }
      };
      let result: T;
      try {
        // The row is held to the end: what the statements after it read is what others have committed before.
        const lock = isExclusive ? `; SELECT 1 FROM ${schema}state FOR UPDATE` : '';
        await query(
          `BEGIN ISOLATION LEVEL READ COMMITTED; INSERT INTO ${schema}change (id, at) VALUES ('${change}', ${NOW})${lock}`,
        );
        result = await work({ query, tellOthers: () => (tells = true) });
        // The server would take a commit for a rollback, and say nothing.
        if (failed !== undefined) throw toDatabaseError(failed);
      } catch (thrown) {
        if (!connection.isBroken) await query('ROLLBACK').catch(() => connection.destroy());
        throw thrown;
      }
      try {
        const tell = tells ? `SELECT pg_notify('${this.channel.slice(1, -1)}', 'changed'); ` : '';
        await query(`${tell}COMMIT`);
      } catch (thrown) {
        const error = toDatabaseError(thrown);
        if (error.isBroken) throw new Unsure(result, error);
        throw error;
      }
      return result;
    } finally {
      connection.release(connection.isBroken);
    }
  }

  /**
   * Waits for the end of that transaction, where it still goes on; from then on it cannot be done any more. A row of this
   * look has another time than one of the transaction: where the connection breaks once more, the look is done again.
   */
  async #wasDone(change: string): Promise<boolean> {
    const insert = `INSERT INTO ${this.dialect.schema}change AS c (id, at) VALUES ($1, 0)
      ON CONFLICT (id) DO UPDATE SET at = c.at RETURNING at`;
    for (const until = performance.now() + LONGEST_LOOK_UP_MS; ; await wait(PAUSE_OF_LOOK_UP_MS)) {
      try {
        return (await this.query<{ at: number }>(insert, [change])).rows[0]?.at !== 0;
      } catch (thrown) {
        const { fault, message } = toDatabaseError(thrown);
        if (performance.now() < until) continue;
        const words = `the connection broke at the end of a change, which may be done or not: ${message}`;
        throw new DatabaseError(fault, words, { isUnsure: true, cause: thrown });
      }
    }
  }

  /** A server that cannot be written to any more may have given way to another. */
  #noted(thrown: unknown): DatabaseError {
    const error = toDatabaseError(thrown);
    if (error.fault === 'read-only' || error.fault === 'permission') this.onRefused?.();
    if (error.fault === 'read-only' || error.fault === 'unreachable' || error.fault === 'timeout') this.findAgain();
    return error;
  }
}

/** The connection broke at the commit. */
class Unsure extends Error {
  readonly result: unknown;

  constructor(result: unknown, cause: DatabaseError) {
    super('it is not known whether it was committed', { cause });
    this.result = result;
  }
}

const firstWordsOf = (sql: string): string => sql.trim().split(/\s+/).slice(0, 4).join(' ');

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

const dialectOf = (name: string): Dialect => ({
  schema: `"${name}".`,
  now: NOW,
  texts: (parameter) => `jsonb_array_elements_text(${parameter}::jsonb) AS texts (value)`,
  types: { text: 'text COLLATE "C"', integer: 'bigint', bytes: 'bytea' },
  tableOptions: '',
  tables: `SELECT c.relname::text AS name FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '${name}' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`,
  ownTables: ownTables(`"${name}".`),
  forUpdate: ' FOR UPDATE',
});

/** `change`: the transactions that were done, for those who lost their connection at its end; `object`: contents of files, in pieces. */
const ownTables = (schema: string): readonly string[] => [
  `CREATE TABLE ${schema}change (id text PRIMARY KEY, at bigint NOT NULL)`,
  `CREATE TABLE ${schema}object (digest text COLLATE "C" PRIMARY KEY, size bigint NOT NULL, unused bigint)`,
  `CREATE INDEX object_unused ON ${schema}object (unused) WHERE unused IS NOT NULL`,
  `CREATE TABLE ${schema}object_piece (
    digest text COLLATE "C" NOT NULL REFERENCES ${schema}object ON DELETE CASCADE,
    number bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (digest, number)
  )`,
];
