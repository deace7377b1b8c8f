/** "Every write, activation and registration leaves one audit line: who, what, digest, outcome." */
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pathOf } from '../errors.ts';

const MAX_PATH_LENGTH = 300;

export interface AuditEntry {
  /** In the words of the field, such as `import`, `delete`, `reload`, `register`. */
  readonly action: string;
  /** What it was done to, such as a KO id, an engine or the url of a runtime. */
  readonly subject: string;
  /** Of the package, where there is one. */
  readonly digest?: string;
  /** `sha256:<old>, sha256:<new>` of what an import changed. */
  readonly Replaced?: string;
  readonly outcome: 'done' | 'failed' | 'refused';
}

declare module 'fastify' {
  interface FastifyInstance {
    auditLog: FastifyBaseLogger;
  }
  interface FastifyRequest {
    audited: boolean;
  }
}

export function installAudit(app: FastifyInstance, log: FastifyBaseLogger): void {
  // Audit lines are written at every log level but silence.
  const level = log.level === 'silent' ? 'silent' : 'info';
  app.decorate('auditLog', log.child({ audit: true }, { level }));
  app.decorateRequest('audited', false);
}

/** Writes the line of a change. Handlers call it before they answer; one that does not gets a line all the same. */
export function audit(request: FastifyRequest, entry: AuditEntry): void {
  request.audited = true;
  const { name, kind } = request.principal;
  const from = { requestId: request.id, remoteAddress: request.ip };
  request.server.auditLog.info({ who: name, login: kind, ...entry, ...from }, 'audit');
}

/** For what came as a change and changed nothing, such as a heartbeat: it leaves no line. */
export function auditNothing(request: FastifyRequest): void {
  request.audited = true;
}

/** Writes the line of a change about which its handler said nothing, as when it failed or was refused. */
export function auditAnswer(request: FastifyRequest, status: number): void {
  if (request.audited) return;
  const outcome = status < 400 ? 'done' : status === 401 || status === 403 ? 'refused' : 'failed';
  audit(request, {
    action: request.routeOptions.config.access,
    subject: `${request.method} ${pathOf(request.url).slice(0, MAX_PATH_LENGTH)}`,
    outcome,
  });
}

export const auditOnResponse = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
  auditAnswer(request, reply.statusCode);
  done();
};
