import type { Bench, Row } from './bench.ts';
import { compare } from './compare.ts';
import { makeShelf } from './kos.ts';
import type { BenchKo } from './kos.ts';
import { startBareExecution, startService } from './servers.ts';
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
  await using bare = await startBareExecution(
    bench,
    kos.map((each) => each.bare),
  );
  await using service = await startService(bench, await makeShelf(bench, kos));
  return await compare(bench, {
    case: execution.case,
    connections,
    targets: [
      { name: 'bare node:http', url: bare.url, requests },
      { name: 'service', url: service.url, requests },
    ],
  });
}
