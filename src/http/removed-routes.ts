/** Reads what was deleted or replaced and is kept. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { koKey } from '../knowledge-object/id.ts';
import { malformedRequest } from '../lib/errors.ts';
import type { AuditStore, KeptAuditRecord } from '../shelf/audit/audit-store.ts';
import type { RemovedPackage, Shelf } from '../shelf/shelf.ts';
import { declare } from './methods.ts';
import { linkNext, numberIn, textIn } from './listings/list-query.ts';

const PATH = '/actuator/removed';
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
/** Audit records in which is looked for who made the changes. */
const MAX_RECORDS = 1000;

export function removedRoutes(app: FastifyInstance, shelf: Shelf, audit: AuditStore | undefined): void {
  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    void reply.header('cache-control', 'no-store');
    const limit = numberIn(request, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT;
    const [ko, after] = [textIn(request, 'ko'), textIn(request, 'after')];
    const asked = (await shelf.removed()).filter(
      (each) =>
        request.principal.grants.allow('ko-details', each.id) &&
        (ko === undefined || `${koKey(each.id)}/`.startsWith(`${ko}/`)),
    );
    const from = after === undefined ? 0 : asked.findIndex((each) => placeOf(each) === after) + 1;
    // What was there a page ago may have been brought back, or have become too old.
    if (after !== undefined && from === 0)
      throw malformedRequest('after names no place of this list any more: begin without it');
    const page = asked.slice(from, from + limit);
    const last = page.at(-1);
    if (last !== undefined && from + limit < asked.length) linkNext(request, reply, PATH, placeOf(last));
    const records = await recordsSince(audit, last);
    return page.map((each) => answerOf(each, records));
  };
  declare(app, PATH, { GET: { access: 'ko-details', handler: read } });
}

/** Of a KO no two were removed at one time. */
const placeOf = ({ id, removed }: RemovedPackage): string => `${removed.toISOString()}/${koKey(id)}`;

async function recordsSince(
  audit: AuditStore | undefined,
  oldest: RemovedPackage | undefined,
): Promise<readonly KeptAuditRecord[]> {
  if (audit === undefined || oldest === undefined) return [];
  return (await audit.read({ limit: MAX_RECORDS, since: oldest.removed.getTime() })).records;
}

function answerOf(each: RemovedPackage, records: readonly KeptAuditRecord[]): object {
  const { digest, removed, why } = each;
  const key = koKey(each.id);
  const by = records.find(
    (record) =>
      record.outcome === 'done' &&
      (why === 'deleted'
        ? record.action === 'delete' && record.subject === key && record.digest === digest
        : record.Replaced?.includes(`sha256:${digest}, `) === true && record.subject.includes(key)),
  )?.who;
  return {
    ko: key,
    digest: `sha256:${digest}`,
    removed: removed.toISOString(),
    why,
    ...(by === undefined ? {} : { by }),
  };
}
