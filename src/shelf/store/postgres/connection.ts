/** One connection to one server. Whatever the network or the server does, nothing on it waits without a bound. */
import { Socket } from 'node:net';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';
import type { Result, Row, Value } from '../database.ts';
import { DatabaseError, toDatabaseError } from './database-error.ts';
import type { DatabaseHost, DatabaseLocation } from './location.ts';
import { messageOf } from '../../../lib/errors.ts';

export interface ConnectOptions {
  readonly location: DatabaseLocation;
  readonly passwords: PasswordSources;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  /** Aborted once the service stops. */
  readonly stopped?: AbortSignal | undefined;
}

/** A server, and by which way it lets one in. */
export interface Server {
  readonly host: DatabaseHost;
  readonly ssl: Attempt;
}

const KEEP_ALIVE_AFTER_MS = 10_000;
/** The same once the service stops: a node takes leave of its fleet, but waits for no database. */
const LAST_CONNECT_MS = 500;
/** To connect takes several turns: what goes on may take this many times as long as a server may say nothing. */
const MOST_TIMES_AS_LONG = 8;
/** For a server to take leave. */
const LEAVE_MS = 1000;
const OLDEST_SERVER = 140_000;
const FACTS = `SELECT current_setting('transaction_read_only') AS ro, current_setting('server_version_num')::int AS version,
  current_setting('server_encoding') AS encoding`;

const BIGINT: number = pg.types.builtins.INT8;

/** `bigint` as numbers: those of this schema are none beyond 2^53. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number): unknown => (oid === BIGINT ? Number : pg.types.getTypeParser(oid, 'text')),
};

/** The types of the driver lack this option of it. */
interface TimedQuery extends pg.QueryConfig {
  readonly query_timeout: number;
}

export class Connection extends pg.Client {
  readonly server: Server;
  readonly #socket: Socket;
  readonly #startup: Readonly<Record<string, string>>;
  #isBroken = false;

  constructor(server: Server, { location, passwords, name, stopped }: ConnectOptions) {
    const { user, database, connectTimeout } = location;
    const socket = new Socket();
    super({
      ...{ ...server.host, user, database, ssl: server.ssl, types: TYPES, stream: () => socket },
      ...{ keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS },
      connectionTimeoutMillis: connectTimeout * MOST_TIMES_AS_LONG,
      password: async () => {
        const found = await passwordFor(location, server.host, passwords);
        if (found !== undefined) return found;
        throw new DatabaseError('credentials', 'the server asks for a password, and none is given');
      },
    });
    this.server = server;
    this.#socket = socket;
    this.#startup = { user, database, client_encoding: 'UTF8', application_name: name };
    // What waits for an answer hears of it by itself.
    this.on('error', () => (this.#isBroken = true));
    this.on('end', () => (this.#isBroken = true));
    socket.on('timeout', () => {
      const seconds = String((socket.timeout ?? connectTimeout) / 1000);
      socket.destroy(late(`the server said nothing for ${seconds} s while connecting`));
    });
    const limit = (): void => void socket.setTimeout(stopped?.aborted === true ? LAST_CONNECT_MS : connectTimeout);
    limit();
    stopped?.addEventListener('abort', limit);
    const settled = (): void => stopped?.removeEventListener('abort', limit);
    this.once('connect', settled);
    socket.once('close', settled);
    this.once('connect', () => socket.setTimeout(0));
  }

  /** To a server that the shelf can lie on. @throws DatabaseError. */
  static async open(server: Server, options: ConnectOptions): Promise<{ connection: Connection; isReadOnly: boolean }> {
    const connection = new Connection(server, options);
    try {
      await connection.connect();
      const { rows } = await connection.statement<Facts>(FACTS, [], options.location.connectTimeout);
      const [facts = { ro: 'on', version: 0, encoding: '' }] = rows;
      requireUsable(facts);
      return { connection, isReadOnly: facts.ro === 'on' };
    } catch (thrown) {
      connection.destroy();
      throw toDatabaseError(thrown, true);
    }
  }

  /** Nothing of the environment steers it, and a pooler takes no more than this. */
  getStartupConf(): Readonly<Record<string, string>> {
    return this.#startup;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** One statement, or several without values. @param timeout milliseconds. @throws DatabaseError. */
  async statement<T extends Row = Row>(sql: string, values: readonly Value[], timeout: number): Promise<Result<T>> {
    const timed: TimedQuery = { text: sql, values: [...values], query_timeout: timeout };
    try {
      const { rows, rowCount } = await this.query<T>(timed);
      return { rows, count: rowCount ?? 0 };
    } catch (thrown) {
      const isLate = thrown instanceof Error && thrown.message === 'Query read timeout';
      const error = isLate ? late(`a statement took more than ${String(timeout / 1000)} s`) : toDatabaseError(thrown);
      if (error.isBroken) this.destroy();
      throw error;
    }
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | void {
    setTimeout(() => this.destroy(), LEAVE_MS).unref();
    return callback === undefined ? super.end() : super.end(callback);
  }

  destroy(): void {
    this.#isBroken = true;
    this.#socket.destroy();
  }
}

interface Facts extends Row {
  readonly ro: string;
  /** Such as 150018. */
  readonly version: number;
  readonly encoding: string;
}

/** @throws DatabaseError for a server that this schema cannot lie on. */
function requireUsable({ version, encoding }: Facts): void {
  if (version < OLDEST_SERVER) {
    const major = String(Math.floor(version / 10_000));
    throw new DatabaseError('schema', `it is PostgreSQL ${major}, and 14 is the oldest that is supported`);
  }
  if (encoding !== 'UTF8')
    throw new DatabaseError('schema', `its encoding is ${encoding}: create it with ENCODING 'UTF8'`);
}

const late = (message: string): DatabaseError => new DatabaseError('timeout', message, { isBroken: true });

export interface PasswordSources {
  /** Reads `--shelf-password-file`. @throws startRefused. */
  readonly file?: (() => string) | undefined;
  /** Of the process: `PGPASSWORD`, `PGPASSFILE`, and `HOME` for `~/.pgpass`. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Undefined where there is none: the server may let this user in without. */
async function passwordFor(
  location: DatabaseLocation,
  host: DatabaseHost,
  { file, environment = {} }: PasswordSources,
): Promise<string | undefined> {
  if (file !== undefined) return file();
  if (location.password !== undefined) return location.password.reveal();
  const given = environment['PGPASSWORD'];
  if (given !== undefined && given !== '') return given;
  const home = environment['HOME'];
  const path = environment['PGPASSFILE'] ?? (home === undefined ? undefined : join(home, '.pgpass'));
  if (path === undefined || (await isOpenToOthers(path))) return undefined;
  const text = await readFile(path, 'utf8').catch(() => '');
  return passwordIn(text, host, location);
}

/** The first line that fits `host:port:database:user:password`, of which each may be `*`. */
export function passwordIn(
  text: string,
  { host, port }: DatabaseHost,
  { database, user }: Pick<DatabaseLocation, 'database' | 'user'>,
): string | undefined {
  const wanted = [host.startsWith('/var/run/postgresql') ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = line.match(FIELD)?.map((each) => each.replace(/\\(.)/g, '$1')) ?? [];
    const password = fields[wanted.length]?.slice(1);
    const fits = wanted.every((each, index) => {
      const field = index === 0 ? fields[0] : fields[index]?.slice(1);
      return field === '*' || field === each;
    });
    if (fits && password !== undefined) return password;
  }
  return undefined;
}

/** The first, or one with the colon before it. */
const FIELD = /(?:^|:)(?:[^:\\]|\\.)*/g;

/** As PostgreSQL's own programs do, a file that others may read is not used. */
async function isOpenToOthers(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found === undefined || !found.isFile() || (found.mode & 0o077) !== 0;
}

/** How a connection is tried: with TLS by these options, or plain. */
type Attempt = ConnectionOptions | false;

/** In order: the next is tried where the server does not want the one before. @throws DatabaseError for files that cannot be read. */
export async function attemptsFor(location: DatabaseLocation, host: string): Promise<readonly Attempt[]> {
  const { sslMode } = location;
  // Unix sockets carry no TLS.
  if (sslMode === 'disable' || host.startsWith('/')) return [false];
  const tls = await tlsOptions(location);
  if (sslMode === 'allow') return [false, tls];
  return sslMode === 'prefer' ? [tls, false] : [tls];
}

async function tlsOptions({ sslMode, sslRootCert, sslCert, sslKey }: DatabaseLocation): Promise<ConnectionOptions> {
  const [ca, cert, key] = await Promise.all([
    sslRootCert === undefined || sslRootCert === 'system' ? undefined : read(sslRootCert, 'sslrootcert'),
    sslCert === undefined ? undefined : read(sslCert, 'sslcert'),
    sslKey === undefined ? undefined : read(sslKey, 'sslkey'),
  ]);
  return {
    // With an authority named, `require` verifies it too.
    rejectUnauthorized: sslMode.startsWith('verify') || (sslMode === 'require' && ca !== undefined),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(sslMode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
}

async function read(path: string, parameter: string): Promise<Buffer> {
  try {
    const bytes = await readFile(path);
    if (!bytes.includes('-----BEGIN ')) throw new Error('it holds nothing in the form PEM');
    return bytes;
  } catch (thrown) {
    throw new DatabaseError('tls', `${parameter} names ${path}, which cannot be used: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}
