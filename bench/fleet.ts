/**
 * `node bench/fleet.ts [rounds] [kos]`: three nodes over one PostgreSQL, which is started for it, with so many other
 * knowledge objects on their shelf. How long a change takes until all nodes have it, with notifications and behind a
 * pooler that passes none; what an idle node asks of the database.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { zipOf } from '../test/acceptance/support/ko.ts';
import { startFleet, type TestFleet } from '../test/fleet/support/fleet.ts';
import { startPgbouncer } from '../test/fleet/support/pgbouncer.ts';
import { said, saying } from '../test/fleet/support/whole.ts';
import { testDatabase, type TestDatabase } from '../test/support/postgres/shared.ts';
import { copyShelf } from '../src/shelf/copy-shelf.ts';
import { openShelf } from '../src/shelf/stores.ts';
import { openPostgresShelf } from '../src/shelf/store/postgres/open-postgres-shelf.ts';
import { makeShelf, manyKos } from './lib/kos.ts';
import { proportionalOf } from './lib/memory.ts';

const rounds = Number(process.argv[2] ?? 20);
const kos = Number(process.argv[3] ?? 0);
const NAAN = 'bench';
const IDLE_S = 20;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
const median = (values: readonly number[]): number => sorted(values)[values.length >> 1] ?? 0;
const summary = (values: readonly number[]): string =>
  `${median(values).toFixed(0)} ms [${(sorted(values)[0] ?? 0).toFixed(0)}–${(sorted(values).at(-1) ?? 0).toFixed(0)}]`;

async function changes(fleet: TestFleet, what: string): Promise<void> {
  const [imports, reloads]: [number[], number[]] = [[], []];
  // The first starts the processes that run code.
  for (let i = -1; i < rounds; i++) {
    const ko = saying(NAAN, 'changed', String(i));
    const zip = await zipOf(ko.files);
    const node = fleet.node((i + 3) % 3);
    const began = performance.now();
    await node.importZip(zip);
    const imported = performance.now();
    await fleet.node((i + 4) % 3).reload(ko);
    const reloaded = performance.now();
    const seen = await said(fleet.nodes, ko);
    if (seen.some((each) => each !== String(i))) throw new Error(`not all nodes run ${i}: ${seen.join()}`);
    if (i < 0) continue;
    imports.push(imported - began);
    reloads.push(reloaded - imported);
  }
  say(`${what}: an import is on all nodes after ${summary(imports)}, a reload after ${summary(reloads)}`);
}

async function idle(fleet: TestFleet, database: TestDatabase): Promise<void> {
  const { name } = database;
  const count = async (): Promise<number> => {
    const [row] = await database.run(
      `SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = '${name}'`,
    );
    return Number(row?.['n']);
  };
  await wait(3000);
  const before = await count();
  await wait(IDLE_S * 1000);
  // Two of them are of this program.
  const statements = ((await count()) - before - 1) / IDLE_S / fleet.nodes.length;
  const [row] = await database.run(
    `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = '${name}' AND application_name LIKE 'kgrid %'`,
  );
  say(
    `an idle node asks ${statements.toFixed(1)} times a second, over ${(Number(row?.['n']) / 3).toFixed(1)} connections`,
  );
  const memories = await Promise.all(fleet.nodes.map(({ pid }) => proportionalOf(pid)));
  say(`its process takes ${median(memories).toFixed(0)} MB`);
}

async function fill({ url }: TestDatabase): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-bench-fleet-'));
  try {
    const files = await makeShelf({ folder, signal: new AbortController().signal }, manyKos(kos));
    await using from = await openShelf(files);
    await using to = await openPostgresShelf(url, { folder: join(folder, 'copy') });
    const { failed } = await copyShelf(from, to, { overwrite: false, onCopied: () => undefined });
    if (failed.length > 0) throw new Error(JSON.stringify(failed));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await using database = await testDatabase();
if (kos > 0) await fill(database);
{
  await using fleet = await startFleet(3, { url: database.url });
  await changes(fleet, 'with notifications');
  await idle(fleet, database);
}
await using pooler = await startPgbouncer(database.port);
await using fleet = await startFleet(3, { url: `postgres://kgrid@127.0.0.1:${pooler.port}/${database.name}` });
await changes(fleet, 'behind a pooler without them');
