import { setTimeout as wait } from 'node:timers/promises';
import { Connection, type ConnectOptions } from './connection.ts';
import { DatabaseError, toDatabaseError } from './database-error.ts';
import type { DatabaseHost } from './location.ts';

export interface ConnectionsOptions extends ConnectOptions {
  /** How many at most, beside those that are opened apart. */
  readonly most: number;
}

/** Milliseconds for which nobody else tries after a server could not be reached. */
const REST_AFTER_FAILURE = 500;
/** Milliseconds after which an unused connection is closed. */
const UNUSED_FOR = 60_000;
/** Milliseconds for which a connection may be waited for while all are in use. */
const LONGEST_WAIT = 30_000;

interface Waiting {
  readonly take: (connection: Connection) => void;
  readonly fail: (error: DatabaseError) => void;
}

/** A few connections to the host that can be written to. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #hosts: readonly DatabaseHost[];
  #idle: { readonly connection: Connection; readonly timer: NodeJS.Timeout }[] = [];
  readonly #used = new Set<Connection>();
  readonly #waiting: Waiting[] = [];
  #opening = 0;
  #failed: { readonly at: number; readonly error: DatabaseError } | undefined;
  #lastGood = 0;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#hosts = options.location.hosts;
  }

  /** Why there is no connection, where the last attempt failed. */
  get problem(): DatabaseError | undefined {
    return this.#failed?.error;
  }

  /** Of one's own, not counted. @throws DatabaseError. */
  async openApart(): Promise<Connection> {
    this.#requireOpen();
    try {
      const connection = await this.#openWritable();
      this.#failed = undefined;
      return connection;
    } catch (thrown) {
      const error = toDatabaseError(thrown, true);
      this.#failed = { at: performance.now(), error };
      for (const { fail } of this.#waiting.splice(0)) fail(error);
      throw error;
    }
  }

  /** To be given back. Fails at once while it is known that there is none to be had. @throws DatabaseError. */
  async take(): Promise<Connection> {
    this.#requireOpen();
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      clearTimeout(idle.timer);
      this.#used.add(idle.connection);
      return idle.connection;
    }
    if (this.#used.size + this.#opening >= this.#options.most) return this.#waitForOne();
    const { at, error } = this.#failed ?? {};
    if (at !== undefined && error !== undefined && (this.#opening > 0 || performance.now() - at < REST_AFTER_FAILURE))
      throw error;
    this.#opening++;
    try {
      const connection = await this.openApart();
      if (this.#closed) connection.close();
      this.#used.add(connection);
      return connection;
    } finally {
      this.#opening--;
    }
  }

  giveBack(connection: Connection): void {
    this.#used.delete(connection);
    if (this.#closed) connection.close();
    if (connection.isBroken) return this.#serveNext();
    const next = this.#waiting.shift();
    if (next !== undefined) {
      this.#used.add(connection);
      next.take(connection);
      return;
    }
    const timer = setTimeout(() => this.#drop(connection), UNUSED_FOR).unref();
    this.#idle.push({ connection, timer });
    connection.onBroken = () => this.#drop(connection);
  }

  /** What is not in use is closed: the next look for the writable host anew. */
  dropIdle(): void {
    for (const { connection } of [...this.#idle]) this.#drop(connection);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.dropIdle();
    for (const { fail } of this.#waiting.splice(0)) fail(CLOSED());
    // What runs may come to its end; after that it is broken off.
    for (let turns = 0; this.#used.size > 0 && turns < 50; turns++) await wait(20);
    for (const connection of this.#used) connection.destroy();
  }

  #drop(connection: Connection): void {
    const found = this.#idle.find((each) => each.connection === connection);
    if (found === undefined) return;
    clearTimeout(found.timer);
    this.#idle = this.#idle.filter((each) => each !== found);
    connection.close();
  }

  async #waitForOne(): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(new DatabaseError('timeout', 'all connections to the database are in use'));
      }, LONGEST_WAIT);
      const waiting: Waiting = {
        take: (connection) => (clearTimeout(timer), resolve(connection)),
        fail: (error) => (clearTimeout(timer), reject(error)),
      };
      this.#waiting.push(waiting);
    });
  }

  /** One went and cannot be used: who waits for it gets a new one. */
  #serveNext(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.take().then(next.take, (thrown: unknown) => next.fail(toDatabaseError(thrown)));
  }

  /** The first host that can be written to; where there is none, one that can be read. */
  async #openWritable(): Promise<Connection> {
    let readable: Connection | undefined;
    const failures: DatabaseError[] = [];
    for (let turn = 0; turn < this.#hosts.length; turn++) {
      const index = (this.#lastGood + turn) % this.#hosts.length;
      const host = this.#hosts[index];
      if (host === undefined) continue;
      try {
        const connection = await Connection.open(host, this.#options);
        if (!connection.isReadOnly || this.#hosts.length === 1) {
          readable?.close();
          this.#lastGood = index;
          return connection;
        }
        if (readable === undefined) readable = connection;
        else connection.close();
      } catch (thrown) {
        failures.push(toDatabaseError(thrown, true));
      }
    }
    if (readable !== undefined) return readable;
    throw mostTelling(failures);
  }

  #requireOpen(): void {
    if (this.#closed) throw CLOSED();
  }
}

/** Of several hosts, one that may yet come says more of what to do than one that refuses. */
function mostTelling(failures: readonly DatabaseError[]): DatabaseError {
  const found = failures.find(({ fault }) => fault === 'unreachable' || fault === 'timeout') ?? failures[0];
  return found ?? new DatabaseError('unreachable', 'it names no host');
}

const CLOSED = (): DatabaseError =>
  new DatabaseError('unreachable', 'the database was closed: the activator is stopping');
