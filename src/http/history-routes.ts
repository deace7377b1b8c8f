/** The calls of the last hour, for people who look at them: `GET /actuator/history`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { History } from '../metrics/history.ts';
import { koIn } from './listings/ko-query.ts';
import { numberIn } from './listings/list-query.ts';
import { declare } from './methods.ts';

const DEFAULT_LIMIT = 200;
const MAX_LIMIT = 1000;

export function historyRoutes(app: FastifyInstance, history: Pick<History, 'of'>): void {
  const read = (request: FastifyRequest, reply: FastifyReply): unknown => {
    void reply.header('cache-control', 'no-store');
    return history.of(koIn(request), numberIn(request, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT);
  };
  declare(app, '/actuator/history', { GET: { access: 'info', handler: read } });
}
