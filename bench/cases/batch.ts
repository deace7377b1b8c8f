/** Batches of NDJSON: records a second beside single calls and a plain loop, and single calls beside a batch. */
import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { batchRate, curlArgs, recordsFile } from '../lib/batches.ts';
import type { Bench, BenchCase, Row } from '../lib/bench.ts';
import { greetingInNode, greetingInPython } from '../lib/greeting.ts';
import { costOf } from '../../test/acceptance/support/process-tree.ts';
import { benchKo, CLEARANCE, makeShelf } from '../lib/kos.ts';
import type { BenchKo } from '../lib/kos.ts';
import { startService } from '../lib/servers.ts';
import { measure } from '../lib/wrk.ts';

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
