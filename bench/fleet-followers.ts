/**
 * `node bench/fleet-followers.ts [--followers 100] [--kos 100000] [--processes 10] [--rounds 20]`: many nodes without HTTP
 * over one PostgreSQL, which is started for it: how long a change takes until all have it, what they ask of the database, how
 * many connections they hold, and the memory of each.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { importZip } from '../src/shelf/import/import-zip.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../src/shelf/import/limits.ts';
import { openPostgresShelf } from '../src/shelf/postgres/open-postgres-shelf.ts';
import type { PostgresShelf } from '../src/shelf/postgres/postgres-shelf.ts';
import { zipOf } from '../test/acceptance/support/ko.ts';
import { testDatabase } from '../test/support/postgres/shared.ts';
import type { TestDatabase } from '../test/support/postgres/shared.ts';
import { now } from './lib/followers.ts';
import type { FromFollowers } from './lib/followers.ts';
import { benchKo, CLEARANCE } from './lib/kos.ts';

const { values } = parseArgs({
  options: {
    followers: { type: 'string', default: '100' },
    kos: { type: 'string', default: '100000' },
    processes: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '20' },
    idle: { type: 'string', default: '20' },
  },
});
const [kos, processes, rounds, idleS] = [values.kos, values.processes, values.rounds, values.idle].map(Number) as [
  number,
  number,
  number,
  number,
];
const each = Math.ceil(Number(values.followers) / processes);
const followers = each * processes;
/** As many changes one after another. */
const BURST = 50;
const PATIENCE_MS = 60_000;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const at = (numbers: readonly number[], part: number): number =>
  sorted(numbers)[Math.min(numbers.length - 1, Math.floor(numbers.length * part))] ?? 0;
const summary = (numbers: readonly number[], unit = 'ms'): string =>
  `${at(numbers, 0.5).toFixed(0)} ${unit} [${at(numbers, 0).toFixed(0)}–${at(numbers, 1).toFixed(0)}]`;

/** What each has seen: the time at which it came to a revision, or to a later one. */
class Seen {
  readonly #of = new Map<string, { revision: number; at: number }[]>();
  #wake: () => void = () => undefined;

  note(follower: string, revision: number, time: number): void {
    this.#of.set(follower, [...(this.#of.get(follower) ?? []).slice(-200), { revision, at: time }]);
    this.#wake();
  }

  /** Times at which the followers came to it, one for each. */
  async all(revision: number): Promise<number[]> {
    for (const end = now() + PATIENCE_MS; now() < end;) {
      const times = [...this.#of.values()].map((seen) => seen.find((one) => one.revision >= revision)?.at);
      const there = times.filter((time) => time !== undefined);
      if (there.length === followers) return there;
      await Promise.race([wait(1000), new Promise<void>((resolve) => (this.#wake = resolve))]);
    }
    throw new Error(`not all followers came to revision ${revision}`);
  }
}

/** Rows as imports leave them, of a package that all share. */
async function fill(database: TestDatabase): Promise<void> {
  const { ko } = benchKo('ko', CLEARANCE);
  const metadata = JSON.stringify(ko.metadata).replaceAll("'", "''");
  await database.run(`
    INSERT INTO kgrid.package (digest, artifacts, size)
      SELECT encode(sha256(i::text::bytea), 'hex'), '', 0 FROM generate_series(1, ${kos}) i;
    INSERT INTO kgrid.ko (naan, name, version, digest, metadata, at_id, etag, revision)
      SELECT 'bench', 'ko' || i, 'v1.0', encode(sha256(i::text::bytea), 'hex'),
        replace('${metadata}', 'bench/ko/', 'bench/ko' || i || '/'), NULL, '"' || md5(i::text) || '"', i
      FROM generate_series(1, ${kos}) i;
    UPDATE kgrid.state SET revision = ${kos}, mark = gen_random_uuid();
    ANALYZE kgrid.ko`);
}

async function change(shelf: PostgresShelf, folder: string, name: string, code: string): Promise<void> {
  const { ko } = benchKo(name, code);
  const zip = await zipOf(ko.files);
  await importZip(Readable.from([zip]), { shelf, spool: folder, limits: DEFAULT_PACKAGE_LIMITS });
}

async function countOf(database: TestDatabase, what: string): Promise<number> {
  const [row] = await database.run(`SELECT ${what} AS n FROM pg_stat_database WHERE datname = '${database.name}'`);
  return Number(row?.['n']);
}
const STATEMENTS = 'xact_commit + xact_rollback';

async function changes(database: TestDatabase, shelf: PostgresShelf, folder: string, seen: Seen): Promise<void> {
  const [answered, half, all]: [number[], number[], number[]] = [[], [], []];
  const before = await countOf(database, STATEMENTS);
  const began = now();
  for (let round = 0; round < rounds; round++) {
    const start = now();
    await change(shelf, folder, 'changed', `${CLEARANCE} // ${round}`);
    answered.push(now() - start);
    const times = (await seen.all(await shelf.revision())).map((time) => time - start);
    half.push(at(times, 0.5));
    all.push(at(times, 1));
  }
  const idle = ((now() - began) / 1000) * followers * 2;
  // What is counted comes late.
  await wait(1500);
  const asked = ((await countOf(database, STATEMENTS)) - before - idle - 3 * followers) / rounds;
  say(`a change is answered, with all nodes having it, after ${summary(answered)}`);
  say(`half of the followers have it after ${summary(half)}, the last after ${summary(all)}`);
  say(`it costs about ${Math.max(0, asked).toFixed(0)} statements beside those of idle nodes`);
  const start = now();
  for (let i = 0; i < BURST; i++) await change(shelf, folder, `burst${i}`, CLEARANCE);
  const last = now() - start;
  const times = await seen.all(await shelf.revision());
  say(
    `${BURST} changes one after another take ${last.toFixed(0)} ms; the last follower has all after ${(at(times, 1) - start).toFixed(0)} ms`,
  );
}

async function idle(database: TestDatabase): Promise<void> {
  await wait(2000);
  const before = await countOf(database, STATEMENTS);
  const began = now();
  await wait(idleS * 1000);
  const statements = ((await countOf(database, STATEMENTS)) - before) / ((now() - began) / 1000) / (followers + 1);
  const [row] = await database.run(
    `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = '${database.name}' AND application_name LIKE 'kgrid %'`,
  );
  say(`idle, a follower asks ${statements.toFixed(2)} times a second; all hold ${String(row?.['n'])} connections`);
}

const folder = await mkdtemp(join(tmpdir(), 'kgrid-bench-followers-'));
try {
  await using database = await testDatabase();
  await using children = new AsyncDisposableStack();
  await using shelf = await openPostgresShelf(database.url, { folder });
  await fill(database);
  say(`${followers} followers in ${processes} processes over one PostgreSQL with ${kos.toLocaleString('en-US')} KOs`);
  const seen = new Seen();
  const loads: Extract<FromFollowers, { what: 'loaded' }>[] = [];
  for (let i = 0; i < processes; i++) {
    const child = fork(join(import.meta.dirname, 'lib/followers.ts'), [database.url, String(each)], {
      execArgv: ['--expose-gc', '--max-old-space-size=8192'],
    });
    const ended = once(child, 'exit');
    children.defer(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    child.on('message', (message: FromFollowers) => {
      if (message.what === 'seen') seen.note(message.follower, message.revision, message.at);
      else loads.push(message);
    });
    // One after another: what is measured is not how they all load at a time.
    while (loads.length === i) await Promise.race([once(child, 'message'), failed(child)]);
  }
  const of = (what: 'megabytes' | 'processorS' | 'milliseconds'): number[] => loads.map((load) => load[what] / each);
  say(`a follower holds ${summary(of('megabytes'), 'MB')}`);
  say(
    `it has read the shelf after ${summary(of('milliseconds'))}, for ${at(of('processorS'), 0.5).toFixed(2)} s of processor time`,
  );
  await idle(database);
  await changes(database, shelf, folder, seen);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function failed(child: ReturnType<typeof fork>): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number | null];
  throw new Error(`the followers ended with ${String(code)}`);
}
