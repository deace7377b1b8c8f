/** What each change leaves in the audit, whether its handler says so or not. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BecameActive, ChangeOutcome } from '../../activation/selection.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { otherAtId } from '../../knowledge-object/metadata.ts';
import { notAuthorized } from '../../lib/errors.ts';
import { cutWords, someOf } from '../../lib/text.ts';
import { pathOf } from '../../lib/url-path.ts';
import type { AuditRecord } from '../../shelf/audit/audit-store.ts';
import type { Audit } from '../../shelf/audit/audit.ts';
import { ChangeAuthor } from '../../shelf/change-author.ts';
import type { ShelfEntry } from '../../shelf/shelf.ts';

// What an audit record says of an `@id` that is not the place of its knowledge object.

/** KOs that an audit record names. */
const MAX_NAMED = 100;

interface AtId {
  readonly atId?: string;
}

export function atIdOf({ id, metadata }: Pick<ShelfEntry, 'id' | 'metadata'>): AtId {
  const atId = otherAtId(id, metadata);
  return atId === undefined ? {} : { atId };
}

/** `<naan>/<name>/<version> <@id>, …`, of those that have two names. */
export function atIdsOf(all: readonly { readonly ko: string; readonly atId?: string | undefined }[]): AtId {
  const named = all.flatMap(({ ko, atId }) => (atId === undefined ? [] : [`${ko} ${atId}`]));
  return named.length === 0 ? {} : { atId: cutWords(someOf(named, MAX_NAMED)) };
}

const MAX_PATH_LENGTH = 300;

/** What a handler says of its change. */
type AuditEntry = Omit<AuditRecord, 'who' | 'login' | 'requestId' | 'remoteAddress'>;

declare module 'fastify' {
  interface FastifyInstance {
    audit: Audit;
  }
  interface FastifyRequest {
    audited: boolean;
    /** Made when somebody asks for it: see `authorOf`. */
    author: ChangeAuthor | undefined;
  }
}

export function installAudit(app: FastifyInstance, audit: Audit): void {
  app.decorate('audit', audit);
  // What is answered before anybody looked at who asks is no change.
  app.decorateRequest('audited', true);
  app.decorateRequest('author', undefined);
}

/** Who makes the changes of a request, for whatever keeps their records. */
export const authorOf = (request: FastifyRequest): ChangeAuthor =>
  (request.author ??= new ChangeAuthor(factsOf(request), (id) => {
    const { grants, name } = request.principal;
    if (!grants.allow('shelf-write', id)) throw notAuthorized(`${name} may not change ${koKey(id)}`);
  }));

const factsOf = ({ principal, id, ip }: FastifyRequest): ChangeAuthor['facts'] => ({
  who: principal.name,
  login: principal.kind,
  requestId: id,
  remoteAddress: ip,
});

/** Writes the record of a change. Handlers call it before they answer; one that does not gets one all the same. */
export function audit(request: FastifyRequest, entry: AuditEntry): void {
  request.audited = true;
  const { who, login, ...from } = factsOf(request);
  request.server.audit.write({ who, login, ...entry, ...from }, request.author);
}

/** For what leaves no line of its own: it came as a change and changed nothing, such as a heartbeat, or is counted. */
export function auditNothing(request: FastifyRequest): void {
  request.audited = true;
}

/** What was asked for, in the words of the audit. */
export const askedIn = (request: FastifyRequest): Pick<AuditRecord, 'action' | 'subject'> => ({
  action: request.routeOptions.config.access,
  subject: `${request.method} ${pathOf(request.url).slice(0, MAX_PATH_LENGTH)}`,
});

/** Writes the line of a change about which its handler said nothing, as when it failed or was refused. */
export const auditOnResponse = (
  request: FastifyRequest,
  { statusCode: status }: FastifyReply,
  done: () => void,
): void => {
  const outcome = status < 400 ? 'done' : status === 401 || status === 403 ? 'refused' : 'failed';
  if (!request.audited) audit(request, { ...askedIn(request), outcome });
  done();
};

/** What an audit record says of an activation: what is active since, and what could not be activated. */
type Audited = Pick<AuditEntry, 'atId' | 'digest' | 'digests' | 'notActive' | 'outcome'>;

/** `isNamed`: of one knowledge object that was asked for. */
export const auditedActivation = (outcome: ChangeOutcome, isNamed: boolean): Audited => ({
  ...digestsOf(outcome.active, isNamed),
  ...howItEnded(outcome),
});

/** Which content is active since: of a KO that was named always, of all others where it is another than before. */
function digestsOf(active: readonly BecameActive[], isNamed: boolean): Pick<AuditEntry, 'atId' | 'digest' | 'digests'> {
  const told = isNamed ? active : active.filter(({ isNew }) => isNew);
  const [first] = told;
  if (first === undefined) return {};
  if (isNamed && told.length === 1)
    return { digest: first.digest, ...(first.atId === undefined ? {} : { atId: first.atId }) };
  const all = told.map(({ ko, digest }) => `${ko} ${digest}`);
  return { digests: someOf(all, MAX_NAMED), ...atIdsOf(told) };
}

/** What could not be activated is told, and the rest is active. */
function howItEnded({ active, endpoints, failed }: ChangeOutcome): Pick<AuditEntry, 'notActive' | 'outcome'> {
  if (failed.length === 0) return { outcome: 'done' };
  const notActive = `${failed.length} of ${Math.max(endpoints, failed.length)}: ${someOf(failed, MAX_NAMED)}`;
  return { notActive, outcome: active.length === 0 ? 'failed' : 'partly' };
}
