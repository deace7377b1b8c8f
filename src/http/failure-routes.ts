/** Calls and activations that failed lately, those alike together: `GET /actuator/failures`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FailureGroup, FailureGroups } from '../execution/failure-groups.ts';
import { koKey } from '../knowledge-object/id.ts';
import { escapeSteering } from '../lib/log.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { koIn } from './listings/ko-query.ts';
import { numberIn } from './listings/list-query.ts';
import { declare } from './methods.ts';

export interface FailureRouteOptions {
  readonly failures: FailureGroups;
  readonly shelf: Pick<Shelf, 'find'>;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;

export function failureRoutes(app: FastifyInstance, { failures, shelf }: FailureRouteOptions): void {
  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const ko = koIn(request);
    const limit = numberIn(request, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT;
    await failures.keepOnly(async (id) => (await shelf.find(id)) !== undefined);
    void reply.header('cache-control', 'no-store').type('application/json; charset=utf-8');
    return escapeSteering(JSON.stringify(failures.latest(ko).slice(0, limit).map(toShown)));
  };
  declare(app, '/actuator/failures', { GET: { access: 'info', handler: read } });
}

const toShown = ({
  id,
  endpoint,
  engine,
  code,
  status,
  message,
  place,
  count,
  first,
  last,
  trace,
}: FailureGroup): object => ({
  ko: koKey(id),
  ...(endpoint === '' ? {} : { endpoint, engine }),
  ...{ code, status, message, place, count },
  first: new Date(first).toISOString(),
  last: new Date(last).toISOString(),
  requestId: trace?.requestId,
  executionId: trace?.executionId,
});
