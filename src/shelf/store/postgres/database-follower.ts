/**
 * Keeps a process level with what others write into the database. Each second it looks; a notification only wakes it
 * earlier, since behind a pooler none may come. All of it goes over one connection of its own: a slow database, or changes
 * that have all of the others in use, keep no node from following.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { Backoff } from '../../../lib/backoff.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Following, Look, Query, Row } from '../database.ts';
import type { Connection } from './connection.ts';
import { toDatabaseError, DatabaseError } from './database-error.ts';
import type { PostgresDatabase } from './postgres-database.ts';
import { ASIDE } from '../upgrade/take-over-tables.ts';

interface DatabaseFollowerOptions {
  readonly database: PostgresDatabase;
  readonly look: Look;
  readonly onWarning: (message: string, cause?: unknown) => void;
}

const EVERY_MS = 1000;
/** Between two looks, whatever wakes it: many changes at once are one look. */
const LEAST_PAUSE_MS = 20;
/** More than a slow database takes for a statement. */
const STATEMENT_MS = 4000;
/** In which a notification to oneself must come. */
const NOTIFICATION_MS = 3000;
const LONGEST_PAUSE_MS = 2000;
/** Between two looks whether rows may be changed. */
const RIGHTS_EVERY_MS = 5000;

interface Asked {
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

export class DatabaseFollower implements Following {
  readonly #options: DatabaseFollowerOptions;
  readonly #backoff = new Backoff(EVERY_MS / 4, LONGEST_PAUSE_MS);
  readonly #loop: Promise<void>;
  #asked: Asked[] = [];
  #connection: Connection | undefined;
  #problem: DatabaseError | undefined;
  /** Why nothing can be changed, though it can be read. */
  #refusal: DatabaseError | undefined;
  #rightsAt = -Infinity;
  #isAsking = false;
  #isWoken = false;
  readonly #ended = new AbortController();
  #woken = new AbortController();
  #hearsNotifications: boolean | undefined;
  #closed = false;

  constructor(options: DatabaseFollowerOptions) {
    this.#options = options;
    options.database.onRefused = () => {
      this.#rightsAt = -Infinity;
      this.wake();
    };
    this.#loop = this.#run();
  }

  get problem(): DatabaseError | undefined {
    return this.#problem ?? this.#refusal;
  }

  wake(): void {
    this.#isWoken = true;
    this.#woken.abort();
  }

  async look(): Promise<void> {
    await new Promise<void>((done, failed) => {
      this.#asked.push({ done, failed });
      this.wake();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#ended.abort();
    this.wake();
    await this.#loop;
    await this.#connection?.end();
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    while (!this.#closed) {
      this.#isWoken = false;
      const asked = this.#asked.splice(0);
      try {
        await this.#look();
        this.#succeeded();
        for (const { done } of asked) done();
      } catch (thrown) {
        const error = toDatabaseError(thrown);
        this.#failed(error);
        for (const { failed } of asked) failed(error);
      }
      if (this.#closed) break;
      await this.#rest(this.#problem === undefined ? EVERY_MS : this.#backoff.next());
    }
    for (const { failed } of this.#asked.splice(0)) failed(new Error('the shelf is closed'));
  }

  async #look(): Promise<void> {
    const connection = (this.#connection ??= await this.#connect());
    const query: Query = (sql, values = []) => connection.statement(sql, values, STATEMENT_MS);
    await this.#options.look(query);
    if (this.#refusal !== undefined || performance.now() - this.#rightsAt >= RIGHTS_EVERY_MS) this.#lookAtRights();
  }

  /** On the connections that changes go over, and beside the looks: a slow database does not hold these up. */
  #lookAtRights(): void {
    const { database, onWarning } = this.#options;
    if (this.#isAsking) return;
    [this.#isAsking, this.#rightsAt] = [true, performance.now()];
    void refusalOfChanges(database.query, database.fleet)
      .then((refusal) => {
        if (this.#closed) return;
        if (refusal !== undefined && this.#refusal === undefined)
          onWarning(`The database of the shelf at ${database.label} cannot be changed`, refusal.message);
        if (refusal === undefined && this.#refusal !== undefined)
          onWarning('The database of the shelf can be changed again');
        this.#refusal = refusal;
        // Another of its hosts may have become the one to write to.
        if (refusal?.fault === 'read-only') database.findAgain();
      })
      .catch(() => undefined)
      .finally(() => (this.#isAsking = false));
  }

  async #connect(): Promise<Connection> {
    const connection = await this.#options.database.connect();
    try {
      await this.#listen(connection);
    } catch (thrown) {
      connection.destroy();
      throw thrown;
    }
    connection.once('end', () => this.wake());
    return connection;
  }

  /** Behind a pooler nothing may come: then each second is soon enough. */
  async #listen(connection: Connection): Promise<void> {
    const { database, onWarning } = this.#options;
    const hello = `hello ${crypto.randomUUID()}`;
    const timer = setTimeout(() => {
      if (connection.isBroken || this.#closed) return;
      if (this.#hearsNotifications !== false)
        onWarning(
          'The database passes no notifications, as behind a pooler such as pgbouncer in transaction mode: changes of other nodes are seen each second',
        );
      this.#hearsNotifications = false;
    }, NOTIFICATION_MS).unref();
    connection.on('notification', ({ payload }) => {
      if (payload === hello) {
        clearTimeout(timer);
        this.#hearsNotifications = true;
      } else this.wake();
    });
    await connection.statement(`LISTEN ${database.channel}`, [], STATEMENT_MS);
    // By another connection: a pooler may well pass what one sends to itself.
    const told = database.query('SELECT pg_notify($1, $2)', [database.channel.slice(1, -1), hello], STATEMENT_MS);
    void told.catch(() => clearTimeout(timer));
  }

  #succeeded(): void {
    if (this.#problem !== undefined) this.#options.onWarning('The database of the shelf can be reached again');
    this.#problem = undefined;
    this.#backoff.reset();
  }

  #failed(error: DatabaseError): void {
    if (this.#closed) return;
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#options.database.findAgain();
    if (this.#problem === undefined)
      this.#options.onWarning(
        `The database of the shelf at ${this.#options.database.label} cannot be used: what is known goes on, and changes are refused`,
        messageOf(error),
      );
    this.#problem = error;
  }

  /** Many changes at once are one look, and a database that is away is asked again no earlier, whatever wakes it. */
  async #rest(milliseconds: number): Promise<void> {
    const least = this.#problem === undefined ? LEAST_PAUSE_MS : milliseconds;
    await wait(least, undefined, { signal: this.#ended.signal }).catch(() => undefined);
    if (this.#isWoken || this.#closed) return;
    this.#woken = new AbortController();
    await wait(milliseconds - least, undefined, { signal: this.#woken.signal }).catch(() => undefined);
  }
}

interface RightsRow extends Row {
  readonly ro: string;
  readonly missing: string | null;
}

const MOST_NAMED = 3;

/** @param name of the schema. @returns why not. */
async function refusalOfChanges(query: Query, name: string): Promise<DatabaseError | undefined> {
  const { rows } = await query<RightsRow>(
    `SELECT current_setting('transaction_read_only') AS ro,
        (SELECT string_agg(wanted || ' on ' || c.relname, ', ' ORDER BY c.relname, wanted)
          FROM pg_catalog.pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS wanted
          WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r' AND c.relname <> 'schema_step'
            AND NOT starts_with(c.relname, '${ASIDE}') AND NOT has_table_privilege(c.oid, wanted)) AS missing`,
    [`"${name}"`],
  );
  const [row] = rows;
  if (row?.ro === 'on') return new DatabaseError('read-only', 'it can only be read');
  if (row === undefined || row.missing === null) return undefined;
  const missing = row.missing.split(', ');
  const more = missing.length > MOST_NAMED ? ` and ${String(missing.length - MOST_NAMED)} more` : '';
  return new DatabaseError(
    'permission',
    `its user lacks the right to ${missing.slice(0, MOST_NAMED).join(', ')}${more}`,
  );
}
