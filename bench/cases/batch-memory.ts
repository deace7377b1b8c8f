/** The most memory that was seen under one batch, for batches of different lengths. */
import { batchRate, recordsFile } from '../lib/batches.ts';
import type { Bench, BenchCase, Row } from '../lib/bench.ts';
import { benchKo, CLEARANCE, makeShelf } from '../lib/kos.ts';
import { peakWhile } from '../lib/memory.ts';
import { startService } from '../lib/servers.ts';

async function run(bench: Bench): Promise<Row[]> {
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
  run,
};
