/** Reads the audit that the shelf keeps. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { malformedRequest, notFound } from '../lib/errors.ts';
import type { AuditQuery, AuditStore } from '../shelf/audit/audit-store.ts';
import { linkNext, numberIn, textIn } from './listings/list-query.ts';
import { declare } from './methods.ts';

const PATH = '/actuator/audit';
/** Records of an answer. */
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

export function auditRoutes(app: FastifyInstance, store: AuditStore | undefined): void {
  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    void reply.header('cache-control', 'no-store');
    const query = queryOf(request);
    if (store === undefined)
      throw notFound(
        'No audit is kept here, since the shelf can only be read and no --state folder is given: the log has all audit lines',
      );
    const { records, more } = await store.read(query);
    const last = records.at(-1);
    if (more && last !== undefined) linkNext(request, reply, PATH, String(last.id));
    return records;
  };
  declare(app, PATH, { GET: { access: 'info', handler: read } });
}

/** @throws malformedRequest. */
function queryOf(request: FastifyRequest): AuditQuery {
  return {
    limit: numberIn(request, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT,
    after: numberIn(request, 'after', Number.MAX_SAFE_INTEGER),
    since: timeOf(textIn(request, 'since')),
    ko: textIn(request, 'ko'),
    who: textIn(request, 'who'),
  };
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = ISO_TIME.test(text) ? Date.parse(text.replace(' ', '+')) : NaN;
  if (Number.isNaN(time))
    throw malformedRequest('since must be a date or time such as 2026-11-20 or 2026-11-20T15:06:08Z');
  return time;
}

/** The plus sign of an offset stands for a space in a query. */
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+ -]\d\d:?\d\d)?)?$/;
