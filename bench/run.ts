/** `npm run bench`: measures the service beside bare servers and prints a table. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { batch, batchMemory } from './cases/batch.ts';
import { checks } from './cases/checks.ts';
import { chain, execute, executeAsync, hundred, realistic } from './cases/execute.ts';
import { idle } from './cases/idle.ts';
import { reads } from './cases/reads.ts';
import { node, python } from './cases/runtimes.ts';
import { scale } from './cases/scale.ts';
import { spinner } from './cases/spinner.ts';
import type { Row } from './lib/bench.ts';
import { helpText, readOptions } from './lib/options.ts';
import type { Options } from './lib/options.ts';
import { machine, report } from './lib/report.ts';
import { ensureWrk } from './lib/wrk.ts';

/** In the order of the report. */
const CASES = [
  execute,
  realistic,
  executeAsync,
  hundred,
  chain,
  reads,
  node,
  python,
  checks,
  batch,
  batchMemory,
  spinner,
  scale,
  idle,
];

async function main(options: Options, signal: AbortSignal): Promise<void> {
  const progress = (text: string): void => void process.stderr.write(`${text}\n`);
  ensureWrk(progress);
  const host = machine();
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-bench-'));
  const rows: Row[] = [];
  try {
    for (const each of options.cases) rows.push(...(await each.run({ ...options, folder, signal, progress })));
  } finally {
    await rm(folder, { recursive: true, force: true });
    // What was measured before something failed, or before Ctrl-C, is not lost.
    if (rows.length > 0) process.stdout.write(`${report(rows, host)}\n`);
    if (options.json !== undefined)
      await writeFile(options.json, JSON.stringify({ machine: host, rows }, undefined, 2));
  }
  if (rows.some(({ failed }) => failed > 0)) process.exitCode = 1;
}

// All that runs ends by itself, in bounded time, once this aborts: a second signal has nothing to add.
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => stop.abort(new Error(`${name}: ended before all was measured`)));
}
try {
  const options = readOptions(process.argv.slice(2), CASES);
  if (options.help) process.stdout.write(helpText(CASES));
  else await main(options, stop.signal);
} catch (thrown) {
  const why: unknown = stop.signal.aborted ? stop.signal.reason : thrown;
  process.stderr.write(`${why instanceof Error ? why.message : String(why)}\n`);
  process.exitCode = 1;
}
