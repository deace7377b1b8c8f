/** A small service with one route for each access, whose handlers tell who called. */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import pino from 'pino';
import type { AccessOptions } from '../../src/http/access/access.ts';
import { installAccess } from '../../src/http/access/install-access.ts';
import { CallTokens } from '../../src/engines/call-token.ts';
import { Identity } from '../../src/identity/identity.ts';
import type { IdentityOptions } from '../../src/identity/identity.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { Secret } from '../../src/lib/secret.ts';

export const USER = 'curator';
export const PASSWORD = 'pass:wörd';

export interface AccessApp {
  readonly app: FastifyInstance;
  /** Everything that was logged, one text for each line. */
  readonly lines: string[];
  /** The lines of the audit. */
  readonly audits: () => Record<string, unknown>[];
  /** How often a handler of a route other than an open one ran. */
  handled: number;
}

export const basicOf = (user = USER, password = PASSWORD): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** What a test may set. */
export type AccessAppOptions = Partial<AccessOptions & IdentityOptions>;

export const WITH_BASIC: AccessAppOptions = { basic: { user: USER, password: new Secret(PASSWORD) } };

export const PROTECTED = [
  { method: 'POST', path: '/kos' },
  { method: 'PUT', path: '/kos/a/b/v1' },
  { method: 'DELETE', path: '/kos/a/b/v1' },
  { method: 'GET', path: '/actuator/activation/reload' },
  { method: 'POST', path: '/proxy/environments' },
  { method: 'GET', path: '/actuator/info' },
] as const;

const DEFAULTS = {
  profile: 'secure',
  tokens: new CallTokens(),
  corsOrigins: [],
  loopbackOnly: true,
  publicHosts: [],
} as const;

export function createAccessApp(
  options: AccessAppOptions = {},
  { install = installAccess, trustProxy = false } = {},
): AccessApp {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const app = Fastify({ trustProxy });
  const accessApp: AccessApp = {
    app,
    lines,
    audits: () =>
      lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ audit }) => audit === true),
    handled: 0,
  };
  const anonymous = options.anonymous ?? (options.profile === 'dev' ? 'operator' : 'caller');
  const all = { ...DEFAULTS, log, ...options, anonymous };
  install(app, { identity: new Identity(all), ...all });

  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof ServiceError)
      return reply.code(error.status).headers(error.headers).send({ message: error.message });
    return reply.send(error);
  });
  const tell = (request: FastifyRequest): object => ({
    principal: { ...request.principal, grants: undefined },
    seesDetails: request.principal.kind !== 'anonymous',
  });
  const guarded = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    accessApp.handled++;
    return reply.send(tell(request));
  };
  app.get('/kos', { config: { access: 'read' } }, tell);
  app.get('/kos/:naan/:name/:version', { config: { access: 'read' } }, tell);
  app.get('/actuator/health', { config: { access: 'health' } }, tell);
  app.post('/:naan/:name/:version/:endpoint', { config: { access: 'execution' } }, tell);
  app.post('/kos', { config: { access: 'shelf-write' } }, guarded);
  app.put('/kos/:naan/:name/:version', { config: { access: 'shelf-write' } }, guarded);
  app.delete('/kos/:naan/:name/:version', { config: { access: 'shelf-write' } }, guarded);
  app.get('/actuator/activation/reload', { config: { access: 'activation' } }, guarded);
  app.post('/proxy/environments', { config: { access: 'runtime-registration' } }, guarded);
  app.get('/actuator/info', { config: { access: 'info' } }, guarded);
  return accessApp;
}
