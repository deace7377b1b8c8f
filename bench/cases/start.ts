import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { mapBounded } from '../../src/lib/fair-queue.ts';
import type { Bench, BenchCase, Row } from '../lib/bench.ts';
import { type BenchKo, makeShelf, manyKos } from '../lib/kos.ts';
import { memoryOf } from '../lib/memory.ts';
import { type Service, type ServiceOptions, startService } from '../lib/servers.ts';
import type { BenchRequest } from '../lib/wrk.ts';

const MOST_REPEATS = 3;
const CONCURRENT_CALLS = 8;
const TIMEOUT_MS = 30_000;
const POLL_MS = 50;
const FIRST = 'first start';
const SECOND = 'second start';

type Runtimes = NonNullable<ServiceOptions['runtimes']>;

interface Start {
  readonly listening: number;
  readonly ready: number;
  /** MB, summed over the service and all that it started. */
  readonly memory: number;
  /** Milliseconds until each knowledge object has answered once: their code may be loaded only then. */
  readonly called: number;
  readonly memoryCalled: number;
}

export const start: BenchCase = {
  name: 'start',
  about: 'time to listen and to be ready, and memory, with 1, 100 and 1,000 knowledge objects',
  async run(bench) {
    const rows: Row[] = [];
    for (const count of bench.quick ? [1, 20] : [1, 100, 1000]) {
      rows.push(...(await startsWith(bench, count, [])));
    }
    rows.push(...(await startsWith(bench, 1, ['node', 'python'])));
    return rows;
  },
};

/** Each repeat begins with a shelf on which no service has run; Node's compile cache stays as it is. */
async function startsWith(bench: Bench, count: number, runtimes: Runtimes): Promise<Row[]> {
  const kos = manyKos(count);
  const fresh = await makeShelf(bench, kos);
  const starts = new Map<string, Start[]>([
    [FIRST, []],
    [SECOND, []],
  ]);
  for (let repeat = 0; repeat < Math.min(MOST_REPEATS, bench.rounds); repeat++) {
    const shelf = join(bench.folder, `start-${repeat}`);
    await cp(fresh, shelf, { recursive: true });
    for (const [name, all] of starts) {
      bench.progress(`start: repeat ${repeat + 1}, ${count} on the shelf, ${name}`);
      all.push(await startOnce(bench, shelf, kos, runtimes));
    }
    await rm(shelf, { recursive: true });
  }
  return [...starts].map(([name, all]) => ({
    case: 'start',
    what: `${count.toLocaleString('en-US')} on the shelf, ${runtimes.length === 0 ? 'no runtimes' : runtimes.join(' and ')} · ${name}`,
    figures: {
      'listening ms': all.map(({ listening }) => listening),
      'ready ms': all.map(({ ready }) => ready),
      'memory MB': all.map(({ memory }) => memory),
      'then all called once ms': all.map(({ called }) => called),
      'memory then MB': all.map(({ memoryCalled }) => memoryCalled),
    },
    failed: 0,
  }));
}

async function startOnce(bench: Bench, shelf: string, kos: readonly BenchKo[], runtimes: Runtimes): Promise<Start> {
  await using service = await startService(bench, shelf, { runtimes });
  const { listening, ready } = service;
  // The service is ready without them, but what it needs is more with them.
  await allUp(bench, service, runtimes);
  const memory = await memoryOf(service);
  const began = performance.now();
  await mapBounded(kos, CONCURRENT_CALLS, ({ call }) => answered(bench, service, call));
  return { listening, ready, memory, called: performance.now() - began, memoryCalled: await memoryOf(service) };
}

async function answered({ signal }: Bench, { url }: Service, { path, body = '' }: BenchRequest): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body, signal });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answers ${response.status}: ${text}`);
}

async function allUp({ signal }: Bench, { url }: Service, runtimes: Runtimes): Promise<void> {
  const end = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  for (;;) {
    const response = await fetch(`${url}/proxy/environments`, { signal: end });
    const known = JSON.stringify(await response.json());
    if (runtimes.every((engine) => known.includes(`"engine":"${engine}"`))) return;
    await wait(POLL_MS, undefined, { signal: end });
  }
}
