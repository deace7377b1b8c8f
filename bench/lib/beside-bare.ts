import type { Bench, Row } from './bench.ts';
import { compare } from './compare.ts';
import { makeShelf } from './kos.ts';
import type { BenchKo } from './kos.ts';
import { startBareExecution, startService } from './servers.ts';
import type { ServiceOptions } from './servers.ts';
import type { BenchRequest } from './wrk.ts';

export interface Execution {
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
