import { hostname } from 'node:os';
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import type { Config } from '../../config/config.ts';
import type { Identity, Resource } from '../../identity/identity.ts';
import { isChange, isPermission, type Permission } from '../../identity/permissions.ts';
import { ANONYMOUS, type Principal } from '../../identity/principal.ts';
import { messageOf, ServiceError } from '../../lib/errors.ts';
import { isLoopback } from '../../lib/host-port.ts';
import type { AuditStore } from '../../shelf/audit/audit-store.ts';
import { Audit } from '../../shelf/audit/audit.ts';
import type { AccessOptions, LoginRefusal } from './access.ts';
import { auditOnResponse, installAudit } from './audit.ts';
import { createCors } from './cors.ts';
import { askToPost, createCrossSiteRule, createNameRule, isFollowedLink } from './cross-site.ts';
import { allowanceOf, RefusedRequests } from './refused-requests.ts';

interface AccessParts {
  readonly identity: Identity;
  readonly log: FastifyBaseLogger;
  /** None on a read-only shelf. */
  readonly auditStore: AuditStore | undefined;
  readonly observe?: AccessOptions['observe'];
}

/** The access rules that the configuration asks for. */
export const accessOptionsOf = (
  config: Config,
  { identity, log, auditStore, observe }: AccessParts,
): AccessOptions => ({
  identity,
  profile: config.profile,
  corsOrigins: config.cors,
  loopbackOnly: isLoopback(config.host),
  publicHosts: config.publicUrl === undefined ? [] : [new URL(config.publicUrl).host],
  allowedHosts: [...config.allowedHosts, ...config.cors.map((origin) => new URL(origin).hostname), ...machineNames()],
  log,
  auditStore,
  auditBytes: config.limits.audit,
  observe,
});

/** With its domain and without. */
function machineNames(): string[] {
  const name = hostname();
  return [name, name.split('.', 1)[0] ?? name];
}

/**
 * Puts the access rules on every route of `app`, its plugins included. Call it before the first route is added.
 *
 * A route without a valid `config.access` stops the start. What is refused is thrown from an onRequest hook, before
 * a body is read, as notAuthenticated, notAuthorized, crossSiteRefused or loginUnavailable.
 */
export function installAccess(app: FastifyInstance, options: AccessOptions): void {
  const corsOrigins = new Set(options.corsOrigins.map(originOf).filter((origin) => origin !== undefined));
  const cors = createCors(corsOrigins);
  const crossSiteRefusal = createCrossSiteRule(corsOrigins, options);
  const nameRefusal = createNameRule(options);
  const audit = new Audit(options.log, options.auditStore);
  const { auditBytes } = options;
  const refused = new RefusedRequests(
    audit,
    options.log,
    auditBytes === undefined ? undefined : allowanceOf(auditBytes),
  );
  const authenticate = createAuthentication(options, refused);

  installAudit(app, audit);
  app.addHook('onClose', () => refused[Symbol.asyncDispose]());
  app.decorateRequest('principal');
  app.addHook('onRoute', declareAccess);
  app.addHook('onRequest', (request, reply, done) => {
    request.principal = options.identity.anybody;
    request.audited = false;
    const access = accessOf(request);
    if (request.method === 'OPTIONS') return cors.answerOptions(request, reply);
    cors.addHeaders(request, reply, access);

    if (isChange(access) && isFollowedLink(request)) {
      refused.change(request, 'cross-site');
      return askToPost(request, reply);
    }
    const crossSite = isChange(access) ? crossSiteRefusal(request) : undefined;
    if (crossSite !== undefined) {
      refused.change(request, 'cross-site');
      return done(crossSite);
    }
    // Where no login is needed, the name is all that keeps a page of another one from what the actuator tells.
    const tells = options.profile === 'dev' && (access === 'info' || access === 'health');
    const foreign = tells ? nameRefusal(request) : undefined;
    if (foreign !== undefined && access === 'info') return done(foreign);
    if (foreign !== undefined && access === 'health') request.principal = ANONYMOUS;
    const pending = authenticate(request, access);
    if (pending === undefined) done();
    else pending.then(() => done(), done);
  });
}

/** As browsers write it; `null` is what every sandboxed page sends, and thus names nobody. */
function originOf(listed: string): string | undefined {
  const origin = URL.parse(listed)?.origin;
  return origin === 'null' ? undefined : origin;
}

function declareAccess(route: RouteOptions): void {
  const access: unknown = route.config?.access;
  if (!isPermission(access)) {
    throw new Error(`${String(route.method)} ${route.url} declares no access: give it config: { access: … }`);
  }
  if (isChange(access)) route.onResponse = [auditOnResponse, ...[route.onResponse ?? []].flat()];
}

/** What matched no route is open: there is nothing behind it. */
function accessOf(request: FastifyRequest): Permission {
  const access: Permission | undefined = request.routeOptions.config.access;
  if (access !== undefined) return access;
  if (request.is404) return 'open';
  throw new Error('A route was added before its access could be checked');
}

/** The knowledge objects that the path of a request names. */
function resourceOf({ params }: FastifyRequest): Resource {
  const { naan, name, version } = (params ?? {}) as Resource;
  return {
    ...(naan !== undefined && { naan }),
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
  };
}

/** Sets the principal, and rejects for one that may not go on; undefined where there is nothing to wait for. */
function createAuthentication(
  { identity, observe }: AccessOptions,
  refused: RefusedRequests,
): (request: FastifyRequest, access: Permission) => Promise<void> | undefined {
  const note = (request: FastifyRequest, access: Permission, why: LoginRefusal): void => {
    observe?.(why);
    if (isChange(access)) refused.change(request, why);
  };

  const identify = async (request: FastifyRequest, access: Permission): Promise<Principal | undefined> => {
    try {
      const { principal, wrong } = await identity.identify(request.headers.authorization);
      if (wrong !== undefined) refused.login(request, 'wrong', wrong);
      if (principal === undefined) note(request, access, wrong === undefined ? 'missing' : 'wrong');
      return principal;
    } catch (thrown) {
      if (thrown instanceof ServiceError) refused.login(request, 'unchecked', { cause: messageOf(thrown.cause) });
      note(request, access, 'unchecked');
      throw thrown;
    }
  };

  const require = async (request: FastifyRequest, access: Permission, resource: Resource): Promise<void> => {
    const { authorization } = request.headers;
    const principal = await identify(request, access);
    if (principal === undefined) throw identity.refusal(principal, authorization);
    request.principal = principal;
    if (identity.allows(principal, access, resource)) return;
    note(request, access, 'scope');
    throw identity.refusal(principal, authorization);
  };
  /** "Wrong credentials are 401 on secured paths; on open ones they count as none." */
  const recognise = async (request: FastifyRequest): Promise<void> => {
    request.principal = (await identify(request, 'health').catch(() => undefined)) ?? ANONYMOUS;
  };

  return (request, access) => {
    const resource = resourceOf(request);
    if (!identity.allows(identity.anybody, access, resource)) return require(request, access, resource);
    const tells = access === 'health' && identity.anybody === ANONYMOUS;
    return tells && request.headers.authorization !== undefined ? recognise(request) : undefined;
  };
}
