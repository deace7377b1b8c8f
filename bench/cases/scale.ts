/** What one change costs among many knowledge objects, and what they cost while nobody calls them. */
import { CLEARANCE, benchKo, makeShelf, manyKos } from '../lib/kos.ts';
import type { Bench, BenchCase, Row } from '../lib/bench.ts';
import { startService } from '../lib/servers.ts';
import type { Service } from '../lib/servers.ts';
import { zipOf } from '../../test/acceptance/support/ko.ts';
import { costOf } from '../../test/acceptance/support/process-tree.ts';
import { memoryOf } from '../lib/memory.ts';

export const scale: BenchCase = {
  name: 'scale',
  about: 'starts, a reload and an import of one KO, and memory, with 1, 100, 1,000 and 10,000 on the shelf (or --kos)',
  async run(bench) {
    const rows: Row[] = [];
    for (const count of bench.kos ?? (bench.quick ? [20] : [1, 100, 1000, 10_000])) {
      rows.push(await measured(bench, count));
    }
    return rows;
  },
};

async function measured(bench: Bench, count: number): Promise<Row> {
  bench.progress(`scale: ${count} on the shelf`);
  const shelf = await makeShelf(bench, manyKos(count));
  const first = await startedOn(bench, shelf);
  await using empty = await startService(bench, await makeShelf(bench, []));
  await using service = await startService(bench, shelf);
  const second = await processorTimeOf(service);
  const memory = await memoryOf(service);
  const each = ((memory - (await memoryOf(empty))) * 1024) / count;
  const reloads: number[] = [];
  const imports: number[] = [];
  const importsIntoEmpty: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const path = `/actuator/activation/reload/bench/ko${(round * 7) % count}/v1.0`;
    reloads.push(await took(() => fetch(service.url + path, { redirect: 'manual', signal: bench.signal })));
    const { ko } = benchKo(`new${round}`, CLEARANCE);
    const zip = await zipOf(ko.files);
    imports.push(await took(() => upload(bench, service, zip)));
    importsIntoEmpty.push(await took(() => upload(bench, empty, zip)));
  }
  return {
    case: 'scale',
    what: `${count.toLocaleString('en-US')} on the shelf`,
    figures: {
      'first start ms': [first.ready],
      'processor time ms': [first.processorTime],
      'second start ms': [service.ready],
      'processor time of that ms': [second],
      'reload of one ms': reloads,
      'import of one ms': imports,
      'into an empty one ms': importsIntoEmpty,
      'memory MB': [memory],
      'KB a KO': [each],
    },
    failed: 0,
  };
}

async function startedOn(bench: Bench, shelf: string): Promise<{ ready: number; processorTime: number }> {
  await using service = await startService(bench, shelf);
  return { ready: service.ready, processorTime: await processorTimeOf(service) };
}

/** Milliseconds that all its processes used, which other work on the machine changes little. */
const processorTimeOf = async ({ pid }: Service): Promise<number> => (await costOf(pid)).tree.cpu * 1000;

function upload({ signal }: Bench, { url }: Service, zip: Buffer): Promise<Response> {
  const body = new FormData();
  body.append('ko', new Blob([new Uint8Array(zip)], { type: 'application/zip' }), 'ko.zip');
  return fetch(`${url}/kos`, { method: 'POST', body, signal });
}

/** Milliseconds until the answer is there. */
async function took(ask: () => Promise<Response>): Promise<number> {
  const began = performance.now();
  const response = await ask();
  const text = await response.text();
  if (response.status >= 400) throw new Error(`${response.url} answers ${response.status}: ${text}`);
  return performance.now() - began;
}
