/** A PostgreSQL server of the tests, on a free port, in a folder of its own, never as root. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { postgresPrograms } from './install.ts';

export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  readonly folder: string;
  /** Of the superuser `kgrid`, who needs no password. */
  url(database?: string): string;
  /** Stops it; `start` takes it up again on the same port, or on another. */
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  start(port?: number): Promise<void>;
  /** SIGSTOP and SIGCONT for all its processes. */
  pause(): void;
  resume(): void;
  run(sql: string, database?: string): Promise<readonly Record<string, unknown>[]>;
  /** Resolves when its process has ended, for whatever reason. */
  readonly ended: Promise<void>;
}

/** Logins of these users are checked: by password, or over TLS alone. */
const RULES = `
local all all trust
host all locked all scram-sha-256
hostssl all tls all trust
host all tls all reject
host all all all trust
host replication all all trust
`;
const SETTINGS = `
fsync = off
full_page_writes = off
max_connections = 400
shared_buffers = 32MB
max_wal_size = 256MB
listen_addresses = '127.0.0.1, 127.0.0.2'
ssl = on
ssl_cert_file = 'server.pem'
ssl_key_file = 'server.key'
log_min_messages = warning
`;
const TLS = join(import.meta.dirname, '../tls');

export async function startServer(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const server = new Server(postgresPrograms());
  try {
    server.make(settings);
    await server.start();
    return server;
  } catch (thrown) {
    await server[Symbol.asyncDispose]();
    throw thrown;
  }
}

class Server implements PostgresServer {
  readonly #programs: string;
  readonly folder: string;
  readonly #data: string;
  port = 0;
  #process: ChildProcess | undefined;
  ended: Promise<void> = Promise.resolve();

  constructor(programs: string) {
    this.#programs = programs;
    this.folder = mkdtempSync(join(tmpdir(), 'postgres-of-tests-'));
    this.#data = join(this.folder, 'data');
  }

  make(settings: Readonly<Record<string, string>>): void {
    const user = unprivileged();
    if (user !== undefined) chownSync(this.folder, user.uid, user.gid);
    chmodSync(this.folder, 0o755);
    const options = ['--auth=trust', '--no-sync', '--username=kgrid', '--encoding=UTF8', '--locale=C.UTF-8'];
    const [program, ...args] = this.#asUser('initdb', '--pgdata', this.#data, ...options);
    execFileSync(program, args, { cwd: this.folder, stdio: ['ignore', 'ignore', 'inherit'], env: environment() });
    const more = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    appendFileSync(
      join(this.#data, 'postgresql.conf'),
      `${SETTINGS}unix_socket_directories = '${this.folder}'\n${more.join('')}`,
    );
    writeFileSync(join(this.#data, 'pg_hba.conf'), RULES);
    for (const kind of ['pem', 'key']) {
      const file = join(this.#data, `server.${kind}`);
      copyFileSync(join(TLS, `localhost.${kind}`), file);
      chmodSync(file, 0o600);
      if (user !== undefined) chownSync(file, user.uid, user.gid);
    }
  }

  url(database = 'postgres'): string {
    return `postgres://kgrid@127.0.0.1:${String(this.port)}/${database}`;
  }

  async start(port?: number): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      this.port = port ?? (this.port === 0 || attempt > 0 ? await freePort() : this.port);
      if (await this.#startOn(this.port)) return;
      // Another process may have been quicker to take the port.
      if (attempt === 3) throw new Error(readFileSync(join(this.folder, 'log'), 'utf8').slice(-2000));
    }
  }

  async #startOn(port: number): Promise<boolean> {
    const log = openSync(join(this.folder, 'log'), 'a');
    const [program, ...args] = this.#asUser('postgres', '-D', this.#data, '-p', String(port));
    const started = spawn(program, args, { cwd: this.folder, stdio: ['ignore', log, log], env: environment() });
    closeSync(log);
    this.#process = started;
    this.ended = once(started, 'exit').then(() => undefined);
    while (started.exitCode === null && started.signalCode === null) {
      if (
        await this.run('SELECT 1').then(
          () => true,
          () => false,
        )
      )
        return true;
      await wait(50);
    }
    return false;
  }

  async stop(how: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const stopped = this.#process;
    this.#process = undefined;
    if (stopped?.exitCode !== null || stopped.signalCode !== null) return;
    this.resume(stopped);
    const ended = once(stopped, 'exit');
    stopped.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  pause(): void {
    this.#signal(this.#process, 'SIGSTOP');
  }

  resume(of: ChildProcess | undefined = this.#process): void {
    this.#signal(of, 'SIGCONT');
  }

  async run(sql: string, database?: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url(database), connectionTimeoutMillis: 5000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      const result = (await client.query(sql)) as { rows: Record<string, unknown>[] };
      return result.rows;
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('immediate');
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Processes of its connections come and go meanwhile. */
  #signal(of: ChildProcess | undefined, signal: NodeJS.Signals): void {
    for (const pid of this.#family(of))
      try {
        process.kill(pid, signal);
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
      }
  }

  #family(of: ChildProcess | undefined): number[] {
    if (of?.pid === undefined) return [];
    const { stdout: children } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(of.pid)], { encoding: 'utf8' });
    return [
      of.pid,
      ...children
        .split('\n')
        .filter((each) => each.trim() !== '')
        .map(Number),
    ];
  }

  /** PostgreSQL refuses to be root. */
  #asUser(program: string, ...args: readonly string[]): [string, ...string[]] {
    const path = join(this.#programs, program);
    const user = unprivileged();
    if (user === undefined) return [path, ...args];
    const [uid, gid] = [String(user.uid), String(user.gid)];
    return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--', path, ...args];
  }
}

/** The user as whom it runs where this is root. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((which) =>
        Number(execFileSync('id', [which, name], { encoding: 'utf8', stdio: 'pipe' })),
      );
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    } catch {
      continue;
    }
  }
  throw new Error('There is no user postgres or nobody, as whom PostgreSQL could run');
}

const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', TZ: 'UTC' });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
