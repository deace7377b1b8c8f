/** Measures servers beside each other, in rounds of alternating order, so that what disturbs one disturbs all. */
import { isDeepStrictEqual } from 'node:util';
import { costOf } from '../../test/acceptance/support/process-tree.ts';
import type { Bench, Row } from './bench.ts';
import { type BenchKo, makeShelf } from './kos.ts';
import { type Server, type ServiceOptions, startBareExecution, startService } from './servers.ts';
import { type BenchRequest, measure, type Measured } from './wrk.ts';

export interface Target {
  readonly name: string;
  readonly server: Server;
  readonly requests: readonly BenchRequest[];
  /** Names of those that it is compared with; the first target when left out. */
  readonly against?: readonly string[];
}

export interface Comparison {
  readonly case: string;
  /** What is compared, where a case compares several things. */
  readonly what?: string;
  readonly connections: readonly number[];
  /** The target to whose processor time that of the others is compared. */
  readonly pairsWith?: string | undefined;
  readonly targets: readonly Target[];
}

const WARM_UP_SECONDS = 2;

/** Each target is warmed up and asked for its answer first. @throws Error when their results differ. */
export async function compare(bench: Bench, comparison: Comparison): Promise<Row[]> {
  const { connections, targets } = comparison;
  await assertSameResults(bench, targets);
  for (const { server, requests } of targets) {
    await measure(bench, server.url, requests, Math.max(...connections), Math.min(WARM_UP_SECONDS, bench.seconds));
  }
  const rows: Row[] = [];
  for (const count of connections) {
    const measured = await inTurn(bench, targets, ({ name, server, requests }, round) => {
      bench.progress(`${comparison.case}: round ${round + 1} of ${bench.rounds}, ${count} connections, ${name}`);
      return measureWithCost(bench, server, requests, count);
    });
    rows.push(...rowsOf(comparison, count, measured));
  }
  return rows;
}

/** Microseconds of processor time for each request. */
interface WithCost extends Measured {
  /** Of the server itself, … */
  readonly own: number;
  /** … and of the processes that it started. */
  readonly others: number;
}

const costOfRequest = ({ own, others }: WithCost): number => own + others;

async function measureWithCost(
  bench: Bench,
  { url, pid }: Server,
  requests: readonly BenchRequest[],
  connections: number,
): Promise<WithCost> {
  const before = await costOf(pid);
  const measured = await measure(bench, url, requests, connections);
  const after = await costOf(pid);
  const each = (seconds: number): number => (Math.max(0, seconds) * 1e6) / Math.max(1, measured.requests);
  const own = after.cpu - before.cpu;
  return { ...measured, own: each(own), others: each(after.tree.cpu - before.tree.cpu - own) };
}

/** Does the work for each of them in every round, backwards in every other one. Results by item, one a round. */
export async function inTurn<T, R>(
  { rounds, signal }: Bench,
  items: readonly T[],
  work: (item: T, round: number) => Promise<R>,
): Promise<Map<T, R[]>> {
  const results = new Map<T, R[]>(items.map((item) => [item, []]));
  for (let round = 0; round < rounds; round++) {
    for (const item of round % 2 === 0 ? items : items.toReversed()) {
      signal.throwIfAborted();
      results.get(item)?.push(await work(item, round));
    }
  }
  return results;
}

function rowsOf(comparison: Comparison, connections: number, measured: ReadonlyMap<Target, WithCost[]>): Row[] {
  const [first] = comparison.targets;
  const pair = comparison.targets.find(({ name }) => name === comparison.pairsWith);
  const costs = pair && measured.get(pair)?.map(costOfRequest);
  const ratesOf = new Map([...measured].map(([target, each]) => [target.name, each.map(({ rate }) => rate)]));
  return [...measured].flatMap(([target, all]) =>
    (target.against ?? [first?.name ?? '']).map((bare, _, against): Row => {
      const bareRates = ratesOf.get(bare) ?? [];
      const label = against.length > 1 ? `${target.name}, against ${bare}` : target.name;
      return {
        case: comparison.case,
        what: [comparison.what, `c${connections}`, label].filter((part) => part !== undefined).join(' · '),
        figures: {
          'requests/s': all.map(({ rate }) => rate),
          'p50 ms': all.map(({ p50 }) => p50),
          'p99 ms': all.map(({ p99 }) => p99),
          'main µs': all.map(({ own }) => own),
          'others µs': all.map(({ others }) => others),
          ...(costs && { 'time to service': all.map((each, round) => costOfRequest(each) / (costs[round] ?? NaN)) }),
          'ratio to bare': all.map(({ rate }, round) => rate / (bareRates[round] ?? NaN)),
        },
        failed: all.reduce((sum, { failed }) => sum + failed, 0),
      };
    }),
  );
}

async function assertSameResults(bench: Bench, targets: readonly Target[]): Promise<void> {
  const [expected, ...others] = await Promise.all(targets.map((target) => resultOf(bench, target)));
  others.forEach((result, i) => {
    if (isDeepStrictEqual(result, expected)) return;
    throw new Error(
      `${targets[i + 1]?.name ?? ''} answers ${JSON.stringify(result)}, ${targets[0]?.name ?? ''} ${JSON.stringify(expected)}`,
    );
  });
}

/** Of the first request: `result` where there is one, else all of the answer. */
async function resultOf({ signal }: Bench, { name, server, requests }: Target): Promise<unknown> {
  const [request] = requests;
  const response = await fetch(`${server.url}${request?.path ?? ''}`, {
    method: request?.method ?? 'GET',
    signal,
    ...(request?.body === undefined ? {} : { body: request.body, headers: { 'content-type': 'application/json' } }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${name} answers ${response.status}: ${answer}`);
  const value: unknown = JSON.parse(answer);
  return typeof value === 'object' && value !== null && 'result' in value ? value.result : value;
}

interface Execution {
  readonly case: string;
  readonly kos: readonly BenchKo[];
  /** Calls of them; each in turn when left out. */
  readonly requests?: readonly BenchRequest[];
  readonly connections: readonly number[];
}

/** Calls knowledge objects in the service and the same functions in a bare `node:http` server. */
export async function besideBare(bench: Bench, execution: Execution): Promise<Row[]> {
  const { kos, requests = kos.map(({ call }) => call), connections } = execution;
  await using servers = new AsyncDisposableStack();
  const bare = servers.use(
    await startBareExecution(
      bench,
      kos.map((each) => each.bare),
    ),
  );
  const targets = [{ name: 'bare node:http', server: bare, requests }];
  for (const [name, options] of servicesOf(bench)) {
    const server = servers.use(await startService(bench, await makeShelf(bench, kos), options));
    targets.push({ name, server, requests });
  }
  const pairsWith = targets.length > 2 ? 'service' : undefined;
  return await compare(bench, { case: execution.case, connections, targets, pairsWith });
}

/** The service, and what it is measured in pairs with. */
function servicesOf({ before, options }: Bench): [string, ServiceOptions][] {
  return [
    ['service', {}],
    ...(before === undefined ? [] : [['service before', { project: before }] satisfies [string, ServiceOptions]]),
    ...(options.length === 0
      ? []
      : [[`service ${options.join(' ')}`, { more: options }] satisfies [string, ServiceOptions]]),
  ];
}
