import { cp, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Bench, BenchCase, Row } from '../lib/bench.ts';
import { CLEARANCE, benchKo, makeShelf } from '../lib/kos.ts';
import { memoryOf } from '../lib/memory.ts';
import { startService } from '../lib/servers.ts';
import { measure } from '../lib/wrk.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');
const REST_MS = 60_000;

/** Without the runtimes, which are counted apart. */
export const idle: BenchCase = {
  name: 'idle',
  about:
    'memory after the start, after calls, and after a minute without any, of no, one and the example knowledge objects',
  async run(bench) {
    const ko = benchKo('clearance', CLEARANCE);
    const examples = await mkdtemp(join(bench.folder, 'examples-'));
    await cp(EXAMPLES, examples, { recursive: true });
    return [
      await restOf(bench, 'nothing on the shelf', await makeShelf(bench, [])),
      await restOf(bench, 'one javascript knowledge object', await makeShelf(bench, [ko]), ko.call),
      await restOf(bench, 'the examples', examples),
    ];
  },
};

async function restOf(
  bench: Bench,
  what: string,
  shelf: string,
  call?: Parameters<typeof measure>[2][0],
): Promise<Row> {
  bench.progress(`idle: ${what}`);
  await using service = await startService(bench, shelf);
  const ready = await memoryOf(service);
  if (call !== undefined) await measure(bench, service.url, [call], 10);
  const used = await memoryOf(service);
  await wait(bench.quick ? 1000 : REST_MS, undefined, { signal: bench.signal });
  const rested = await memoryOf(service);
  return {
    case: 'idle',
    what,
    figures: { 'ready MB': [ready], 'called MB': [used], 'rested MB': [rested] },
    failed: 0,
  };
}
