/**
 * `node bench/fleet-start.ts [kos] [pairs]`: starts of an activator over a PostgreSQL, with what it needs on its disk already,
 * beside starts of one with a folder, in turns; both with the same knowledge objects.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { costOf } from '../test/acceptance/support/process-tree.ts';
import { testDatabase } from '../test/support/postgres/shared.ts';
import type { Bench } from './lib/bench.ts';
import { copyToDatabase } from './lib/database-shelf.ts';
import { makeShelf, manyKos } from './lib/kos.ts';
import { memoryOf } from './lib/memory.ts';
import { startService } from './lib/servers.ts';

const kos = Number(process.argv[2] ?? 10_000);
const pairs = Number(process.argv[3] ?? 5);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const all = (values: readonly number[]): string =>
  values
    .toSorted((a, b) => a - b)
    .map((value) => value.toFixed(2))
    .join(', ');

interface Start {
  readonly ready: number;
  readonly processorMs: number;
  readonly megabytes: number;
}

const folder = await mkdtemp(join(tmpdir(), 'kgrid-bench-start-'));
try {
  await using database = await testDatabase();
  const bench = { folder, signal: new AbortController().signal } as Bench;
  const state = join(folder, 'state');
  const files = await makeShelf(bench, manyKos(kos));
  await copyToDatabase(files, database.url, folder);
  const start = async (shelf: string, more: readonly string[] = []): Promise<Start> => {
    await using service = await startService(bench, shelf, { more });
    const { tree } = await costOf(service.pid);
    return { ready: service.ready, processorMs: tree.cpu * 1000, megabytes: await memoryOf(service) };
  };
  const onFiles = (): Promise<Start> => start(files);
  const onDatabase = (): Promise<Start> => start(database.url, ['--state', state]);
  const [coldFiles, cold] = [await onFiles(), await onDatabase()];
  say(
    `${kos.toLocaleString('en-US')} KOs: the first start takes ${coldFiles.ready.toFixed(0)} ms with a folder, ${cold.ready.toFixed(0)} ms with a database and an empty disk`,
  );
  const [folders, databases]: [Start[], Start[]] = [[], []];
  for (let i = 0; i < pairs; i++) {
    const turns = [async () => folders.push(await onFiles()), async () => databases.push(await onDatabase())];
    for (const turn of i % 2 === 0 ? turns : turns.reverse()) await turn();
  }
  for (const [what, starts] of [
    ['folder', folders],
    ['database', databases],
  ] as const)
    say(
      `${what}: ready after ${median(starts.map(({ ready }) => ready)).toFixed(0)} ms, ${median(starts.map(({ processorMs }) => processorMs)).toFixed(0)} ms of processor time, ${median(starts.map(({ megabytes }) => megabytes)).toFixed(0)} MB`,
    );
  say(`ratios of the time until ready: ${all(databases.map(({ ready }, i) => ready / (folders[i]?.ready ?? 0)))}`);
  say(
    `of the processor time: ${all(databases.map(({ processorMs }, i) => processorMs / (folders[i]?.processorMs ?? 0)))}`,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
