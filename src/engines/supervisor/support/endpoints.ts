/** Endpoints without an engine, for tests of the scheduler and its parts. */
import { words } from '../answers.ts';
import { Endpoint } from '../endpoint.ts';
import type { EndpointParts } from '../endpoint.ts';
import { policyFor } from '../policy.ts';
import type { Policy } from '../policy.ts';

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
