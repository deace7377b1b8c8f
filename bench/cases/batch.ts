/** Batches of NDJSON: records a second beside single calls and a plain loop, and single calls beside a batch. */
import { execFile, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { greetingInNode, greetingInPython } from './runtimes.ts';
import { costOf } from '../../test/acceptance/support/process-tree.ts';
import type { Bench, BenchCase, Row } from '../lib/bench.ts';
import { benchKo, type BenchKo, CLEARANCE, INPUT, makeShelf } from '../lib/kos.ts';
import { peakWhile } from '../lib/memory.ts';
import { type Service, startService } from '../lib/servers.ts';
import { measure } from '../lib/wrk.ts';

// Batches of NDJSON, as files and as they are sent.

const LINES_A_PIECE = 1000;

/** A file of so many records. */
async function recordsFile(bench: Bench, count: number): Promise<string> {
  const path = join(bench.folder, `${count}.ndjson`);
  const piece = `${INPUT}\n`.repeat(LINES_A_PIECE);
  await pipeline(Readable.from(Array.from({ length: count / LINES_A_PIECE }, () => piece)), createWriteStream(path));
  return path;
}

const curlArgs = ({ url }: Service, { call }: BenchKo, file: string): string[] => [
  '-sS',
  '--fail',
  '-o',
  '/dev/null',
  '-X',
  'POST',
  '-H',
  'Content-Type: application/x-ndjson',
  '-T',
  file,
  url + call.path,
];

/** Records a second, by a client that is a process of its own. */
async function batchRate(bench: Bench, service: Service, ko: BenchKo, file: string, count: number): Promise<number> {
  const began = performance.now();
  await promisify(execFile)('curl', curlArgs(service, ko, file), { signal: bench.signal });
  return (count / (performance.now() - began)) * 1000;
}

const LOOP = join(import.meta.dirname, '../bare/loop.ts');

async function rates(bench: Bench, what: string, ko: BenchKo, runtimes: readonly string[]): Promise<Row> {
  await using service = await startService(bench, await makeShelf(bench, [ko]), { runtimes });
  const count = bench.quick ? 10_000 : runtimes.length > 0 ? 50_000 : 500_000;
  const file = await recordsFile(bench, count);
  await batchRate(bench, service, ko, await recordsFile(bench, 5000), 5000);
  const [batch, single, times, cost, loop, costOfLoop]: number[][] = [[], [], [], [], [], []];
  for (let round = 0; round < bench.rounds; round++) {
    const calls = await measure(bench, service.url, [ko.call], 10);
    const before = (await costOf(service.pid)).tree.cpu;
    const records = await batchRate(bench, service, ko, file, count);
    const used = (((await costOf(service.pid)).tree.cpu - before) * 1e6) / count;
    cost?.push(used);
    single?.push(calls.rate);
    batch?.push(records);
    times?.push(records / calls.rate);
    if (runtimes.length > 0) continue;
    const { stdout } = await promisify(execFile)(process.execPath, [LOOP, ko.bare.code, file], {
      signal: bench.signal,
    });
    const [elapsed = NaN, cpu = NaN] = stdout.split(' ').map(Number);
    loop?.push(records / ((count / elapsed) * 1000));
    costOfLoop?.push((cpu * 1000) / count / used);
  }
  const rate = { 'records/s': batch ?? [], 'single calls/s': single ?? [], 'of single': times ?? [] };
  const figures = { ...rate, 'µs a record': cost ?? [] };
  // By the clock, and by processor time, of which the service has more at a time where cores are free.
  const ofLoop: Record<string, readonly number[]> =
    runtimes.length === 0 ? { 'of a loop': loop ?? [], 'of its processor time': costOfLoop ?? [] } : {};
  return { case: 'batch', what, figures: { ...figures, ...ofLoop }, failed: 0 };
}

/** One batch after the other, since one alone may end too soon. */
async function batchesUntil(enough: AbortSignal, bench: Bench, args: string[]): Promise<void> {
  const signal = AbortSignal.any([enough, bench.signal]);
  while (!signal.aborted) {
    const batch = spawn('curl', args, { stdio: 'ignore', signal });
    batch.on('error', () => undefined);
    await new Promise((resolve) => batch.once('close', resolve));
  }
}

async function fairness(bench: Bench, ko: BenchKo): Promise<Row> {
  await using service = await startService(bench, await makeShelf(bench, [ko]));
  const file = await recordsFile(bench, bench.quick ? 200_000 : 5_000_000);
  await batchRate(bench, service, ko, await recordsFile(bench, 5000), 5000);
  const [alones, loops, besides, times]: [number[], number[], number[], number[]] = [[], [], [], []];
  let failed = 0;
  for (let round = 0; round < bench.rounds; round++) {
    const alone = await measure(bench, service.url, [ko.call], 2);
    // What a busy core costs, whoever has it.
    const loop = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    const besideLoop = await measure(bench, service.url, [ko.call], 2).finally(() => loop.kill('SIGKILL'));
    const enough = new AbortController();
    const batches = batchesUntil(enough.signal, bench, curlArgs(service, ko, file));
    const beside = await measure(bench, service.url, [ko.call], 2);
    enough.abort();
    await batches;
    alones.push(alone.p95);
    loops.push(besideLoop.p95);
    besides.push(beside.p95);
    times.push(beside.p95 / alone.p95);
    failed += alone.failed + besideLoop.failed + beside.failed;
  }
  const figures = { 'p95 alone ms': alones, 'beside a loop ms': loops, 'beside a batch ms': besides, times };
  return { case: 'batch-beside', what: '2 single callers', figures, failed };
}

export const batch: BenchCase = {
  name: 'batch',
  about: 'NDJSON: records a second, and single calls beside a batch',
  async run(bench) {
    const ko = benchKo('clearance', CLEARANCE);
    return [
      await rates(bench, 'javascript', ko, []),
      await rates(bench, 'node', greetingInNode(), ['node', 'python']),
      await rates(bench, 'python', greetingInPython(), ['node', 'python']),
      await fairness(bench, ko),
    ];
  },
};

/** The most memory that was seen under one batch, for batches of different lengths. */
async function mostMemory(bench: Bench): Promise<Row[]> {
  const ko = benchKo('clearance', CLEARANCE);
  const rows: Row[] = [];
  for (const count of bench.quick ? [10_000] : [10_000, 1_000_000, ...(bench.records ?? [])]) {
    await using service = await startService(bench, await makeShelf(bench, [ko]));
    const file = await recordsFile(bench, count);
    const [rate, { own, tree }] = await peakWhile(service, batchRate(bench, service, ko, file, count));
    rows.push({
      case: 'batch-memory',
      what: `${count.toLocaleString('en-US')} records`,
      figures: { 'service MB': [own], 'with sandboxes MB': [tree], 'records/s': [rate] },
      failed: 0,
    });
  }
  return rows;
}

export const batchMemory: BenchCase = {
  name: 'batch-memory',
  about: 'NDJSON: the most memory under one batch of 10,000 records, of 1 million, and of --records',
  run: mostMemory,
};
