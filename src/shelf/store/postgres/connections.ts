/** A few connections to the host that can be written to, in a pool of the driver. */
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { Connection, attemptsFor, type ConnectOptions, type Server } from './connection.ts';
import { DatabaseError, toDatabaseError } from './database-error.ts';
import type { DatabaseHost } from './location.ts';

export interface ConnectionsOptions extends ConnectOptions {
  /** How many at most, beside those that are opened apart. */
  readonly most: number;
}

/** In the pool; to be released. */
export type PooledConnection = Connection & pg.PoolClient;

/** Milliseconds for which nobody else tries after a server could not be reached. */
const REST_AFTER_FAILURE = 500;
/** Milliseconds after which an unused connection is closed. */
const UNUSED_FOR = 60_000;
/** Milliseconds for which a connection may be waited for while all are in use. */
const LONGEST_WAIT = 30_000;
/** Milliseconds for which what runs may go on when all is closed. */
const LONGEST_CLOSE = 1000;
/** To connect to a server that was found just now. */
const MOST_ATTEMPTS = 2;
const ALL_IN_USE = 'timeout exceeded when trying to connect';

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #pool: pg.Pool;
  readonly #open = new Set<Connection>();
  /** The one that new connections of the pool go to. */
  #server: Server | undefined;
  #isKnown = false;
  #finding: Promise<Connection> | undefined;
  #lastGood = 0;
  #failed: { readonly at: number; readonly error: DatabaseError } | undefined;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#pool = new pg.Pool({
      Client: pooled(() => this.#server, options, this.#open),
      ...{ max: options.most, idleTimeoutMillis: UNUSED_FOR, connectionTimeoutMillis: LONGEST_WAIT },
    });
    this.#pool.on('error', () => undefined);
  }

  /** Opens a connection of the caller's own, which is not counted. @throws DatabaseError. */
  async openApart(): Promise<Connection> {
    this.#requireOpen();
    try {
      const connection = await this.#openWritable();
      this.#failed = undefined;
      if (!this.#isKnown) [this.#server, this.#isKnown] = [connection.server, true];
      return connection;
    } catch (thrown) {
      const error = toDatabaseError(thrown, true);
      this.#failed = { at: performance.now(), error };
      throw error;
    }
  }

  /** To be released. Fails at once while it is known that there is none to be had. @throws DatabaseError. */
  async take(): Promise<PooledConnection> {
    for (let attempt = 1; ; attempt++) {
      this.#requireOpen();
      if (!this.#isKnown) await this.#find();
      try {
        const connection = await this.#pool.connect();
        if (!(connection instanceof Connection)) throw new Error('the pool has a connection that it did not make');
        if (this.#isKnown && connection.server === this.#server) return connection;
        connection.release(true);
      } catch (thrown) {
        if (thrown instanceof Error && thrown.message === ALL_IN_USE)
          throw new DatabaseError('timeout', 'all connections to the database are in use');
        this.findAgain();
        if (attempt >= MOST_ATTEMPTS) throw toDatabaseError(thrown, true);
      }
    }
  }

  /** The next that is taken looks for the host that can be written to; what is connected to another is closed. */
  findAgain(): void {
    this.#isKnown = false;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const until = performance.now() + LONGEST_CLOSE;
    // The pool forgets those who wait for a connection when it ends.
    while (this.#pool.waitingCount > 0 && performance.now() < until) await wait(10);
    const timer = setTimeout(() => this.#open.forEach((each) => each.destroy()), until - performance.now());
    await this.#pool.end();
    clearTimeout(timer);
  }

  /** Many who ask at a time share one search. */
  async #find(): Promise<void> {
    const { at = -Infinity, error } = this.#failed ?? {};
    if (error !== undefined && (this.#finding !== undefined || performance.now() - at < REST_AFTER_FAILURE))
      throw error;
    if (this.#finding !== undefined) return void (await this.#finding);
    try {
      void (await (this.#finding = this.openApart())).end();
    } finally {
      this.#finding = undefined;
    }
  }

  /** The first host that can be written to; where there is none, one that can be read. */
  async #openWritable(): Promise<Connection> {
    const { hosts } = this.#options.location;
    let readable: Connection | undefined;
    const failures: DatabaseError[] = [];
    for (let turn = 0; turn < hosts.length; turn++) {
      const index = (this.#lastGood + turn) % hosts.length;
      const host = hosts[index];
      if (host === undefined) continue;
      try {
        const { connection, isReadOnly } = await this.#openAt(host);
        if (!isReadOnly || hosts.length === 1) {
          void readable?.end();
          this.#lastGood = index;
          return connection;
        }
        if (readable === undefined) readable = connection;
        else void connection.end();
      } catch (thrown) {
        failures.push(toDatabaseError(thrown, true));
      }
    }
    if (readable !== undefined) return readable;
    throw mostTelling(failures);
  }

  /** By the first way that the server takes. */
  async #openAt(host: DatabaseHost): ReturnType<typeof Connection.open> {
    let first: DatabaseError | undefined;
    for (const ssl of await attemptsFor(this.#options.location, host.host)) {
      try {
        return await Connection.open({ host, ssl }, this.#options);
      } catch (thrown) {
        const error = toDatabaseError(thrown, true);
        if (error.fault !== 'tls' && error.fault !== 'credentials') throw first ?? error;
        // That the server has no TLS matters only where it must have it.
        if (first === undefined || first.message.includes('does not support SSL')) first = error;
      }
    }
    throw first ?? new DatabaseError('unreachable', 'no way to connect is allowed');
  }

  #requireOpen(): void {
    if (this.#closed) throw new DatabaseError('unreachable', 'the database was closed: the activator is stopping');
  }
}

/** What the pool makes its connections with. */
const pooled = (server: () => Server | undefined, options: ConnectOptions, open: Set<Connection>) =>
  class extends Connection {
    constructor() {
      const found = server();
      if (found === undefined) throw new Error('no server is known yet');
      super(found, options);
      open.add(this);
      this.once('end', () => open.delete(this));
    }
  };

/** Of several hosts, one that may yet come says more of what to do than one that refuses. */
function mostTelling(failures: readonly DatabaseError[]): DatabaseError {
  const found = failures.find(({ fault }) => fault === 'unreachable' || fault === 'timeout') ?? failures[0];
  return found ?? new DatabaseError('unreachable', 'it names no host');
}
