/** Reads the audit that the shelf keeps. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { Activator } from '../activation/activator.ts';
import type { ChangedSetting } from '../config/read-settings.ts';
import type { FailureGroup, FailureGroups } from '../execution/failure-groups.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Grants } from '../identity/grants.ts';
import { visibleSet } from '../identity/visible.ts';
import { koKey } from '../knowledge-object/id.ts';
import { malformedRequest, notFound } from '../lib/errors.ts';
import { escapeSteering } from '../lib/log.ts';
import { boundedAccept } from '../lib/media-type.ts';
import type { Exposition } from '../metrics/exposition.ts';
import type { History } from '../metrics/history.ts';
import { type Format, MEDIA_TYPES } from '../metrics/text.ts';
import type { AuditQuery, AuditStore, KeptAuditRecord } from '../shelf/audit/audit-store.ts';
import type { RemovedPackage, Shelf } from '../shelf/shelf.ts';
import { audit } from './access/audit.ts';
import { koIn, linkNext, numberIn, textIn } from './listings/list-query.ts';
import { declare } from './methods.ts';

const AUDIT_PATH = '/actuator/audit';
const PROBLEMS_PATH = '/actuator/problems';

/** Entries of an answer. */
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const MAX_FAILURES = 500;
const DEFAULT_HISTORIES = 200;

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
    if (more && last !== undefined) linkNext(request, reply, AUDIT_PATH, String(last.id));
    return records;
  };
  declare(app, AUDIT_PATH, { GET: { access: 'info', handler: read } });
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

/** Tells of the nodes of a fleet, and lets an operator confirm what became of its database. */
export function fleetRoutes(app: FastifyInstance, fleet: Fleet | undefined): void {
  declare(app, '/actuator/fleet', {
    GET: {
      access: 'info',
      handler: async (_request, reply) => {
        void reply.header('cache-control', 'no-store');
        return shared(fleet).report();
      },
    },
  });
  declare(app, '/actuator/fleet/confirm', {
    POST: {
      access: 'activation',
      handler: async (request, reply) => {
        await shared(fleet).confirm();
        audit(request, { action: 'confirm', subject: 'fleet', outcome: 'done' });
        return reply.code(204).send();
      },
    },
  });
}

function shared(fleet: Fleet | undefined): Fleet {
  if (fleet !== undefined) return fleet;
  throw notFound('This activator is alone: a fleet shares a shelf in PostgreSQL (--shelf postgres://…)');
}

/** Calls and activations that failed lately, those alike together: `GET /actuator/failures`. */
interface FailureRouteOptions {
  readonly failures: FailureGroups;
  readonly shelf: Pick<Shelf, 'find'>;
}

export function failureRoutes(app: FastifyInstance, { failures, shelf }: FailureRouteOptions): void {
  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const ko = koIn(request);
    const limit = numberIn(request, 'limit', MAX_FAILURES) ?? DEFAULT_LIMIT;
    await failures.keepOnly(async (id) => (await shelf.find(id)) !== undefined);
    const own = failures.latest(ko).filter(({ id }) => request.principal.grants.allow('ko-details', id));
    void reply.header('cache-control', 'no-store').type('application/json; charset=utf-8');
    return escapeSteering(JSON.stringify(own.slice(0, limit).map(toShown)));
  };
  declare(app, '/actuator/failures', { GET: { access: 'ko-details', handler: read } });
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
  code,
  status,
  message,
  place,
  count,
  first: new Date(first).toISOString(),
  last: new Date(last).toISOString(),
  requestId: trace?.requestId,
  executionId: trace?.executionId,
});

// What of the shelf does not run, and why.

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
    const ko = koIn(request);
    const problems = problemsOf(activator, shelf, request.principal.grants);
    const all = problems.filter((each) => ko === undefined || each.ko === ko);
    return { total: all.length, problems: all.slice(0, limit) };
  };
  declare(app, PROBLEMS_PATH, { GET: { access: 'ko-details', handler: read } });
}

function problemsOf(activator: Activator, shelf: Shelf, grants: Grants): Problem[] {
  const { endpoints, failures, withoutEndpoints } = visibleSet(activator.set, grants, 'ko-details');
  return [
    ...(grants.everywhere('ko-details') ? shelf.damage() : []).map(({ where, cause }) => ({
      where,
      status: 'UNREADABLE',
      detail: cause,
    })),
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

// The calls of the last hour, for people who look at them: `GET /actuator/history`.

export function historyRoutes(app: FastifyInstance, history: Pick<History, 'of'>): void {
  const read = (request: FastifyRequest, reply: FastifyReply): unknown => {
    void reply.header('cache-control', 'no-store');
    return history.of(koIn(request), numberIn(request, 'limit', MAX_LIMIT) ?? DEFAULT_HISTORIES);
  };
  declare(app, '/actuator/history', { GET: { access: 'info', handler: read } });
}

/** The settings that are not as by default: `GET /actuator/settings`. */
export function settingsRoutes(app: FastifyInstance, changed: readonly ChangedSetting[]): void {
  const read = (_request: FastifyRequest, reply: FastifyReply): unknown => {
    void reply.header('cache-control', 'no-store').type('application/json; charset=utf-8');
    return escapeSteering(JSON.stringify(changed));
  };
  declare(app, '/actuator/settings', { GET: { access: 'info', handler: read } });
}

/** Gives the series to Prometheus, in the form that it asks for. */
interface MetricsRouteOptions {
  readonly exposition: Pick<Exposition, 'text'>;
}

/** Bytes from which it is worth the work. */
const LEAST_ZIPPED_BYTES = 2048;
/** Quick: the texts repeat themselves. */
const ZIP_LEVEL = 1;

export function metricsRoutes(app: FastifyInstance, { exposition }: MetricsRouteOptions): void {
  const zipped = new WeakMap<Buffer, Promise<Buffer>>();
  const zip = (text: Buffer): Promise<Buffer> => {
    let bytes = zipped.get(text);
    if (bytes === undefined) zipped.set(text, (bytes = promisify(gzip)(text, { level: ZIP_LEVEL })));
    return bytes;
  };
  declare(app, '/actuator/prometheus', {
    GET: {
      access: 'metrics',
      handler: async (request, reply) => {
        const format = formatFor(request.headers.accept);
        const text = await exposition.text(format);
        void reply
          .type(MEDIA_TYPES[format])
          .header('cache-control', 'no-store')
          .header('vary', 'Accept, Accept-Encoding');
        const mayZip = new Negotiator(request.raw).encodings(['gzip', 'identity'])[0] === 'gzip';
        if (text.length < LEAST_ZIPPED_BYTES || !mayZip) return reply.send(text);
        return reply.header('content-encoding', 'gzip').send(await zip(text));
      },
    },
  });
}

/**
 * Prometheus names versions and ways of escaping that it likes better or less; there is one of each form here. Who
 * accepts neither gets the text, as from every other program that Prometheus asks.
 */
export function formatFor(accept: string | undefined): Format {
  if (accept === undefined) return 'text';
  const plain = boundedAccept(accept)
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
      return [type, ...parameters.filter((each) => /^q=/i.test(each))].join(';');
    });
  const types = ['text/plain', 'application/openmetrics-text'];
  const liked = new Negotiator({ headers: { accept: plain.join(',') } }).mediaType(types);
  return liked === 'application/openmetrics-text' ? 'openmetrics' : 'text';
}

// Reads what was deleted or replaced and is kept.

const REMOVED_PATH = '/actuator/removed';
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
    if (last !== undefined && from + limit < asked.length) linkNext(request, reply, REMOVED_PATH, placeOf(last));
    const records = await recordsSince(audit, last);
    return page.map((each) => answerOf(each, records));
  };
  declare(app, REMOVED_PATH, { GET: { access: 'ko-details', handler: read } });
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
