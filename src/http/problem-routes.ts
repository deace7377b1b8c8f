/** What of the shelf does not run, and why. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import { koKey } from '../knowledge-object/id.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { numberIn } from './listings/list-query.ts';
import { declare } from './methods.ts';

const PATH = '/actuator/problems';
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

interface Problem {
  /** `<naan>/<name>/<version>`; of what cannot be read as a KO, where it lies. */
  readonly ko?: string;
  readonly where?: string;
  readonly endpoint?: string;
  readonly engine?: string;
  /** Of an endpoint; `UNREADABLE` and `NONE` of packages. */
  readonly status: string;
  readonly detail: string;
}

export function problemRoutes(app: FastifyInstance, activator: Activator, shelf: Shelf): void {
  const read = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const limit = numberIn(request, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT;
    void reply.header('cache-control', 'no-store');
    const all = problemsOf(activator, shelf);
    return { total: all.length, problems: all.slice(0, limit) };
  };
  declare(app, PATH, { GET: { access: 'info', handler: read } });
}

function problemsOf({ set }: Activator, shelf: Shelf): Problem[] {
  const { endpoints, failures, withoutEndpoints } = set;
  return [
    ...shelf.damage().map(({ where, cause }) => ({ where, status: 'UNREADABLE', detail: cause })),
    ...failures.map(({ id, cause }) => ({ ko: koKey(id), status: 'FAILED_TO_ACTIVATE', detail: cause })),
    ...endpoints
      .filter(({ status }) => status === 'FAILED_TO_ACTIVATE')
      .map(({ id, ko, entry, status, detail }) => ({
        ko: koKey(ko.id),
        endpoint: id,
        engine: entry.engine,
        status,
        detail: detail ?? '',
      })),
    ...withoutEndpoints.map(({ id, cause }) => ({ ko: koKey(id), status: 'NONE', detail: cause })),
  ];
}
