/** One connection to one server. Whatever the network or the server does, nothing on it waits without a bound. */
import { Socket } from 'node:net';
import pg from 'pg';
import type { Result, Row, Value } from '../database.ts';
import { DatabaseError, toDatabaseError } from './database-error.ts';
import type { DatabaseHost, DatabaseLocation } from './location.ts';
import { passwordFor, type PasswordSources } from './passwords.ts';
import { attemptsFor, type Attempt } from './tls.ts';

export interface ConnectOptions {
  readonly location: DatabaseLocation;
  readonly passwords: PasswordSources;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
}

/** What a server says of itself. */
export interface ServerFacts {
  readonly isReadOnly: boolean;
  /** Such as 150018. */
  readonly version: number;
  readonly encoding: string;
}

const KEEP_ALIVE_AFTER_MS = 10_000;
/** To connect takes several turns: what goes on may take this many times as long as a server may say nothing. */
const MOST_TIMES_AS_LONG = 8;
const LOOKS_IN_TIMEOUT = 8;
const OLDEST_SERVER = 140_000;
const FACTS = `SELECT current_setting('transaction_read_only') AS ro, current_setting('server_version_num')::int AS version,
  current_setting('server_encoding') AS encoding`;

/** Nothing of the environment may steer it, and a pooler takes no more than this. */
class PlainClient extends pg.Client {
  readonly #startup: Readonly<Record<string, string>>;

  constructor(config: pg.ClientConfig, startup: Readonly<Record<string, string>>) {
    super(config);
    this.#startup = startup;
  }

  getStartupConf(): Readonly<Record<string, string>> {
    return this.#startup;
  }
}

const BIGINT: number = pg.types.builtins.INT8;

/** `bigint` as numbers: those of this schema are none beyond 2^53. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number): unknown => (oid === BIGINT ? Number : pg.types.getTypeParser(oid, 'text')),
};

export class Connection {
  readonly host: DatabaseHost;
  readonly #client: PlainClient;
  readonly #socket: Socket;
  #facts: ServerFacts | undefined;
  #broken: DatabaseError | undefined;
  /** Hears the payload of each notification. */
  onNotification: ((payload: string) => void) | undefined;
  /** Hears once that it cannot be used any more. */
  onBroken: (() => void) | undefined;

  private constructor(host: DatabaseHost, client: PlainClient, socket: Socket) {
    this.host = host;
    this.#client = client;
    this.#socket = socket;
    client.on('error', (thrown) => this.#break(toDatabaseError(thrown)));
    client.on('end', () => this.#break(new DatabaseError('unreachable', 'the connection ended', { isBroken: true })));
    client.on('notification', ({ payload }) => this.onNotification?.(payload ?? ''));
  }

  /** @throws DatabaseError. */
  static async open(host: DatabaseHost, options: ConnectOptions): Promise<Connection> {
    let first: DatabaseError | undefined;
    for (const attempt of await attemptsFor(options.location, host.host)) {
      try {
        return await Connection.#try(host, attempt, options);
      } catch (thrown) {
        const error = toDatabaseError(thrown, true);
        if (error.fault !== 'tls' && error.fault !== 'credentials') throw first ?? error;
        // That the server has no TLS matters only where it must have it.
        if (first === undefined || first.message.includes('does not support SSL')) first = error;
      }
    }
    throw first ?? new DatabaseError('unreachable', 'no way to connect is allowed');
  }

  static async #try(host: DatabaseHost, ssl: Attempt, options: ConnectOptions): Promise<Connection> {
    const { location, passwords, name } = options;
    const { user, database, connectTimeout } = location;
    const socket = new Socket();
    const config = {
      ...host,
      user,
      database,
      ssl,
      types: TYPES,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    };
    const password = async (): Promise<string> => {
      const found = await passwordFor(location, host, passwords);
      if (found === undefined)
        throw new DatabaseError('credentials', 'the server asks for a password, and none is given');
      return found;
    };
    const startup = { user, database, client_encoding: 'UTF8', application_name: name };
    const client = new PlainClient({ ...config, password, stream: () => socket }, startup);
    const connection = new Connection(host, client, socket);
    try {
      await connection.#whileHeard(client.connect(), connectTimeout);
      const { rows } = await connection.query<{ ro: string; version: number; encoding: string }>(
        FACTS,
        [],
        connectTimeout,
      );
      const [{ ro, version, encoding } = { ro: 'on', version: 0, encoding: '' }] = rows;
      connection.#facts = { isReadOnly: ro === 'on', version, encoding };
    } catch (thrown) {
      connection.destroy();
      throw toDatabaseError(thrown, true);
    }
    connection.#requireUsable();
    return connection;
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  get isReadOnly(): boolean {
    return this.#facts?.isReadOnly ?? true;
  }

  /** One statement, or several without values. @param timeout milliseconds. @throws DatabaseError. */
  async query<T extends Row = Row>(sql: string, values: readonly Value[], timeout: number): Promise<Result<T>> {
    if (this.#broken !== undefined) throw this.#broken;
    try {
      const asked = values.length === 0 ? this.#client.query<T>(sql) : this.#client.query<T>(sql, [...values]);
      const result = await this.#within(asked, timeout, 'a statement took');
      return { rows: result.rows, count: result.rowCount ?? 0 };
    } catch (thrown) {
      const error = toDatabaseError(thrown);
      if (error.isBroken) this.#break(error);
      throw error;
    }
  }

  /** Politely; what is asked on it fails. */
  close(): void {
    if (this.#broken === undefined) void this.#client.end().catch(() => undefined);
    this.#break(new DatabaseError('unreachable', 'the connection was closed', { isBroken: true }));
    setTimeout(() => this.#socket.destroy(), 1000).unref();
  }

  destroy(): void {
    this.#break(new DatabaseError('unreachable', 'the connection was given up', { isBroken: true }));
  }

  async #within<T>(work: Promise<T>, milliseconds: number, what: string): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = silent(`${what} more than ${String(milliseconds / 1000)} s`);
        reject(error);
        this.#break(error);
      }, milliseconds);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      work.catch(() => undefined);
    }
  }

  /** A server that is slow, and goes on, is waited for longer than one that says nothing for this long. */
  async #whileHeard(work: Promise<unknown>, milliseconds: number): Promise<void> {
    let watch: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      let [heard, at] = [0, performance.now()];
      watch = setInterval(() => {
        if (this.#socket.bytesRead !== heard) [heard, at] = [this.#socket.bytesRead, performance.now()];
        else if (performance.now() - at >= milliseconds)
          reject(silent(`the server said nothing for ${String(milliseconds / 1000)} s while connecting`));
      }, milliseconds / LOOKS_IN_TIMEOUT);
    });
    try {
      await this.#within(Promise.race([work, silence]), milliseconds * MOST_TIMES_AS_LONG, 'connecting took');
    } finally {
      clearInterval(watch);
    }
  }

  #break(error: DatabaseError): void {
    if (this.#broken !== undefined) return;
    this.#broken = error;
    if (error.message !== 'the connection was closed') this.#socket.destroy();
    this.onBroken?.();
  }

  /** @throws DatabaseError for a server that this schema cannot lie on. */
  #requireUsable(): void {
    const { version = 0, encoding = '' } = this.#facts ?? {};
    const problem =
      version < OLDEST_SERVER
        ? `it is PostgreSQL ${String(Math.floor(version / 10_000))}, and 14 is the oldest that is supported`
        : encoding !== 'UTF8'
          ? `its encoding is ${encoding}: create it with ENCODING 'UTF8'`
          : undefined;
    if (problem === undefined) return;
    this.destroy();
    throw new DatabaseError('schema', problem);
  }
}

const silent = (message: string): DatabaseError => new DatabaseError('timeout', message, { isBroken: true });
