/**
 * Keeps the index level with the database. Each second one statement reads the revision that the fleet has reached, with
 * what changed since; that is the truth, and a notification only wakes it earlier. All of it goes over one connection of
 * its own: a slow database, or changes that have all of the others in use, keep no node from following.
 */
import { Backoff } from '../../lib/backoff.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Connection, Row } from './connection.ts';
import type { Database, Query } from './database.ts';
import { toDatabaseError, type DatabaseError } from './database-error.ts';
import { KO_COLUMNS, PAGE, type KoRow, type SharedIndex } from './shared-index.ts';

/** Of the fleet. */
export interface FleetState {
  readonly revision: number;
  readonly generation: number;
  readonly started: boolean;
  /** Of the database: epoch milliseconds. */
  readonly now: number;
}

/** The state of the fleet, and beside it a KO that changed; without one where nothing did. */
interface StateRow extends Row {
  readonly reached: number;
  readonly mark: string;
  readonly generation: number;
  readonly changes_from: number;
  readonly started: boolean;
  readonly now: number;
}

type ChangedRow = KoRow | { readonly naan: null };

export interface FollowerOptions {
  readonly database: Database;
  readonly index: SharedIndex;
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

export class Follower {
  /** Hears that what is meant to be active is other than before. */
  onGeneration: () => void = () => undefined;
  readonly #options: FollowerOptions;
  readonly #reaching = new Set<{ readonly revision: number; readonly done: () => void }>();
  readonly #looks: (() => void)[] = [];
  readonly #backoff = new Backoff(EVERY_MS / 4, LONGEST_PAUSE_MS);
  #connection: Connection | undefined;
  #state: FleetState | undefined;
  #problem: DatabaseError | undefined;
  #isWoken = false;
  #wake: (() => void) | undefined;
  #isFresh = true;
  #hearsNotifications: boolean | undefined;
  #closed = false;
  #loop: Promise<void> | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** As it was read last. */
  get state(): FleetState | undefined {
    return this.#state;
  }

  /** Why the last look failed. */
  get problem(): DatabaseError | undefined {
    return this.#problem;
  }

  /** False behind a pooler that passes none; undefined until it is known. */
  get hearsNotifications(): boolean | undefined {
    return this.#hearsNotifications;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Looks once. @throws DatabaseError. */
  async look(): Promise<void> {
    const done = new Promise<void>((resolve) => this.#looks.push(resolve));
    this.wake();
    await done;
    if (this.#problem !== undefined) throw this.#problem;
  }

  /** Resolves when the index has reached a revision, or after those milliseconds. */
  async reach(revision: number, milliseconds: number): Promise<void> {
    if (this.#options.index.revision >= revision) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      const waiting = { revision, done: resolve };
      this.#reaching.add(waiting);
      timer = setTimeout(() => (this.#reaching.delete(waiting), resolve()), milliseconds);
      this.wake();
    });
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.wake();
    await this.#loop;
    this.#connection?.close();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      this.#isWoken = false;
      const asked = this.#looks.splice(0);
      try {
        await this.#look();
        this.#succeeded();
      } catch (thrown) {
        this.#failed(toDatabaseError(thrown));
      }
      for (const done of asked) done();
      for (const waiting of this.#reaching) {
        if (this.#options.index.revision < waiting.revision) continue;
        this.#reaching.delete(waiting);
        waiting.done();
      }
      if (this.#closed) break;
      await this.#rest(this.#problem === undefined ? EVERY_MS : this.#backoff.next());
    }
    for (const done of this.#looks.splice(0)) done();
    for (const { done } of this.#reaching) done();
  }

  async #look(): Promise<void> {
    const { database, index } = this.#options;
    const connection = (this.#connection ??= await this.#connect());
    const asked = statement(database.schema);
    const { rows } = await connection.query<StateRow & ChangedRow>(asked, [index.revision], STATEMENT_MS);
    const [row] = rows;
    if (row === undefined) throw new Error(`the schema ${database.fleet} has no state`);
    const { reached, mark, generation, started, now } = row;
    const isSure = !this.#isFresh || index.continues(reached, mark);
    if (!index.isLoaded || !isSure || reached < index.revision || index.revision < row.changes_from) {
      const query: Query = (sql, values = []) => connection.query(sql, values, database.statementTimeout);
      await index.load({ schema: database.schema, query }, reached, mark);
    } else if (reached > index.revision) {
      const changed = rows.filter((each): each is StateRow & KoRow => each.naan !== null);
      const last = changed.length < PAGE ? undefined : changed.at(-1);
      if (last === undefined) index.apply(changed, reached, mark);
      else index.apply(changed, last.revision, undefined);
      // The rest of them.
      if (last !== undefined) this.wake();
    }
    this.#isFresh = false;
    const before = this.#state?.generation;
    this.#state = { revision: reached, generation, started, now };
    if (generation !== before) this.onGeneration();
  }

  async #connect(): Promise<Connection> {
    const { database } = this.#options;
    const connection = await database.connect();
    try {
      await this.#listen(connection);
    } catch (thrown) {
      connection.destroy();
      throw thrown;
    }
    connection.onBroken = () => this.wake();
    this.#isFresh = true;
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
    connection.onNotification = (payload) => {
      if (payload === hello) {
        clearTimeout(timer);
        this.#hearsNotifications = true;
      } else this.wake();
    };
    await connection.query(`LISTEN ${database.channel}`, [], STATEMENT_MS);
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
    this.#options.database.dropIdle();
    if (this.#problem === undefined)
      this.#options.onWarning(
        `The database of the shelf at ${this.#options.database.location.label} cannot be used: what is known goes on, and changes are refused`,
        messageOf(error),
      );
    this.#problem = error;
  }

  async #rest(milliseconds: number): Promise<void> {
    const least = this.#problem === undefined ? LEAST_PAUSE_MS : milliseconds;
    await this.#pause(least, false);
    if (this.#isWoken || this.#closed) return;
    await this.#pause(milliseconds - least, true);
  }

  async #pause(milliseconds: number, canBeWoken: boolean): Promise<void> {
    if (milliseconds <= 0 || this.#closed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        if (!canBeWoken && !this.#closed) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}

const statement = (schema: string): string => `SELECT s.revision AS reached, s.mark::text, s.generation, s.changes_from,
    s.started, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, k.*
  FROM ${schema}.state s LEFT JOIN LATERAL (SELECT ${KO_COLUMNS} FROM ${schema}.ko WHERE revision > $1
    ORDER BY revision LIMIT CASE WHEN $1 < 0 THEN 0 ELSE ${String(PAGE)} END) k ON true ORDER BY k.revision`;
