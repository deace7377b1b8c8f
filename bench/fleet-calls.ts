/**
 * `node bench/fleet-calls.ts [rounds]`: what a call costs on a node with a database beside one on an activator with a folder,
 * and on another of these, which tells how far such figures can be trusted. Microseconds of processor time of the service
 * process, in short turns, so that other work on the machine meets all alike.
 */
import { readdir, readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { pathOf } from '../test/acceptance/support/knowledge-grid.ts';
import { startService } from '../test/acceptance/support/service.ts';
import type { OwnService } from '../test/acceptance/support/service.ts';
import { startFleet } from '../test/fleet/support/fleet.ts';
import { saying } from '../test/fleet/support/whole.ts';

const rounds = Number(process.argv[2] ?? 60);
const WARM_ROUNDS = 8;
const CALLS = 1500;
const CONNECTIONS = 10;

/** Nanoseconds that all threads of a process have run. */
async function ranFor(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const each = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')),
  );
  return each.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0);
}

function call(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, method: 'POST', headers: { 'content-type': 'application/json' } }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${url} answers ${String(answer.statusCode)}`));
      answer.resume().on('end', resolve);
    });
    asked.on('error', reject).end('{}');
  });
}

const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
const median = (values: readonly number[]): number => sorted(values)[values.length >> 1] ?? 0;

await using fleet = await startFleet(1);
await using plain = await startService();
await using control = await startService();
const services: readonly OwnService[] = [fleet.node(0), plain, control];
const ko = saying('bench', 'called', 'quickly');
for (const each of services) await each.serve(ko);
const agents = services.map(() => new Agent({ keepAlive: true, maxSockets: CONNECTIONS }));

async function costOfCall(i: number): Promise<number> {
  const [service, agent] = [services[i], agents[i]];
  if (service === undefined || agent === undefined) return 0;
  const before = await ranFor(service.pid);
  let left = CALLS;
  const client = async (): Promise<void> => {
    while (left-- > 0) await call(service.url + pathOf(ko), agent);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return ((await ranFor(service.pid)) - before) / 1000 / CALLS;
}

const costs: number[][] = services.map(() => []);
for (let round = -WARM_ROUNDS; round < rounds; round++)
  for (let turn = 0; turn < services.length; turn++) {
    const i = (turn + round + WARM_ROUNDS) % services.length;
    const cost = await costOfCall(i);
    if (round >= 0) costs[i]?.push(cost);
  }
for (const agent of agents) agent.destroy();
const [database = [], first = [], second = []] = costs;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const ratio = (of: readonly number[], to: readonly number[]): string =>
  `${(median(of) / median(to)).toFixed(3)} by medians, ${(mean(of) / mean(to)).toFixed(3)} by means, ${median(of.map((cost, i) => cost / (to[i] ?? 0))).toFixed(3)} by rounds`;
process.stdout
  .write(`a call costs ${costs.map((each) => `${median(each).toFixed(1)} µs (least ${(sorted(each)[0] ?? 0).toFixed(1)})`).join(', ')}: with a database, and twice with a folder
calls for the same time, with a database to a folder: ${ratio(first, database)}; to the other: ${ratio(second, database)}
of one folder to the other: ${ratio(second, first)}
`);
