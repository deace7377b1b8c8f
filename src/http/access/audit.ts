/** What each change leaves in the audit, whether its handler says so or not. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Audit } from '../../shelf/audit/audit.ts';
import type { AuditRecord } from '../../shelf/audit/audit-store.ts';
import { ChangeAuthor } from '../../shelf/change-author.ts';
import { pathOf } from '../../lib/url-path.ts';

const MAX_PATH_LENGTH = 300;

/** What a handler says of its change. */
export type AuditEntry = Omit<AuditRecord, 'who' | 'login' | 'requestId' | 'remoteAddress'>;

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
  (request.author ??= new ChangeAuthor(factsOf(request)));

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
