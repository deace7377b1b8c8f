/** The PostgreSQL server that all test processes of a run share, and databases of one's own on it. */
import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { digestOf } from '../../../src/lib/text.ts';
import { postgresPrograms } from './install.ts';

export interface TestDatabase extends AsyncDisposable {
  /** Of a user who may do all, without a password. */
  readonly url: string;
  readonly name: string;
  readonly port: number;
  /** Of the Unix socket. */
  readonly folder: string;
  run(sql: string): Promise<readonly Record<string, unknown>[]>;
}

interface Shared {
  readonly port: number;
  readonly folder: string;
}

const PROJECT = resolve(import.meta.dirname, '../../..');
const WHICH = digestOf(PROJECT, process.env['TEST_POSTGRES'] ?? '').slice(0, 12);
const NAME = `kgrid-test-postgres-${String(process.getuid?.() ?? 0)}-${WHICH}`;

let shared: Promise<Shared> | undefined;

/** A new, empty database; it goes with its disposal. */
export async function testDatabase(): Promise<TestDatabase> {
  const { port, folder } = await (shared ??= reach());
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  const root = `postgres://kgrid@127.0.0.1:${String(port)}`;
  await run(`${root}/postgres`, `CREATE DATABASE ${name} TEMPLATE template0`);
  return {
    ...{ port, folder, name, url: `${root}/${name}` },
    run: (sql) => run(`${root}/${name}`, sql),
    async [Symbol.asyncDispose]() {
      await run(`${root}/postgres`, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

async function run(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const result = (await client.query(sql)) as { rows: Record<string, unknown>[] };
    return result.rows;
  } finally {
    await client.end();
  }
}

/** The keeper is started by the first who needs it; the connection to it says that somebody does. */
async function reach(): Promise<Shared> {
  for (let turn = 0; turn < 100; turn++) {
    const socket = await tryToReach();
    if (socket !== undefined) return readFrom(socket);
    if (turn % 20 === 0) {
      postgresPrograms();
      const keeper = join(import.meta.dirname, 'keeper.ts');
      const env = { PATH: process.env['PATH'], TEST_POSTGRES: process.env['TEST_POSTGRES'] };
      spawn(process.execPath, [keeper, NAME], { detached: true, stdio: 'ignore', env }).unref();
    }
    await wait(100);
  }
  throw new Error('The keeper of the PostgreSQL server of the tests does not start');
}

function tryToReach(): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(`\0${NAME}`);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}

function readFrom(socket: Socket): Promise<Shared> {
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('The PostgreSQL server of the tests has ended')));
    createInterface({ input: socket }).once('line', (line) => {
      const said = JSON.parse(line) as Shared & { problem?: string };
      socket.unref();
      if (said.problem === undefined) resolve(said);
      else reject(new Error(said.problem));
    });
  });
}
