/** Endpoints without an engine, for tests of the scheduler and its parts. */
import { words } from '../../../src/engines/supervisor/answers.ts';
import { Endpoint } from '../../../src/engines/supervisor/endpoint.ts';
import type { EndpointParts } from '../../../src/engines/supervisor/endpoint.ts';
import { policyFor } from '../../../src/engines/supervisor/policy.ts';
import type { Policy } from '../../../src/engines/supervisor/policy.ts';

export const POLICY = policyFor(2);

export const endpointWith = (more: Partial<EndpointParts> = {}, policy: Policy = POLICY): Endpoint =>
  new Endpoint(
    {
      words,
      id: 'a/b/1.0/run',
      slot: 1,
      loadText: '',
      limit: 5000,
      limitedBy: '--execution-timeout',
      maxResult: 1000,
      memoryMb: 32,
      memoryLimitedBy: '--isolate-memory',
      oneByOne: false,
      log: () => undefined,
      explain: (message) => message,
      placeIn: () => undefined,
      ...more,
    },
    policy,
  );
