import { hostname } from 'node:os';
import type {
  DoneFuncWithErrOrRes,
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from 'fastify';
import type { Config } from '../../config/config.ts';
import { certificateOf } from '../../identity/certificate.ts';
import type { Identity, Resource } from '../../identity/identity.ts';
import type { Credentials, Identified } from '../../identity/login.ts';
import { isAskedForEach, isChange, isForAll, isPermission, type Permission } from '../../identity/permissions.ts';
import { ANONYMOUS, type Principal } from '../../identity/principal.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { koNotFound, messageOf, ServiceError } from '../../lib/errors.ts';
import { isLoopback } from '../../lib/host-port.ts';
import { withoutEndSlashes } from '../../lib/text.ts';
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
  profile: config.anonymous === 'operator' ? 'dev' : 'secure',
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

/** What the actuator tells, to which no page of another name may come. */
const DETAILS: ReadonlySet<Permission> = new Set(['info', 'ko-details', 'metrics', 'account-list']);

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
  const { identity } = options;

  installAudit(app, audit);
  app.addHook('onClose', () => refused[Symbol.asyncDispose]());
  app.decorateRequest('principal');
  app.addHook('onRoute', (route) => {
    declareAccess(route);
    if (route.config?.access !== 'read' || !identity.hasLogin || !varies(route.url, identity)) return;
    route.onSend = [...[route.onSend ?? []].flat(), varyByLogin];
  });
  app.addHook('onRequest', (request, reply, done) => {
    request.principal = identity.anybody;
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
    if (request.routeOptions.config.isForOwnPages === true) {
      const stranger = nameRefusal(request) ?? crossSiteRefusal(request);
      if (stranger !== undefined) return done(stranger);
    }
    // Where no login is needed, the name is all that keeps a page of another one from what the actuator tells.
    const isDetail = DETAILS.has(access);
    const tells = options.profile === 'dev' && (isDetail || access === 'health');
    const foreign = tells ? nameRefusal(request) : undefined;
    if (foreign !== undefined && isDetail) return done(foreign);
    if (foreign !== undefined && access === 'health') request.principal = ANONYMOUS;
    const pending = authenticate(request, access);
    const { limits } = identity;
    const isCounted = limits !== undefined && !isForAll(access);
    if (pending === undefined && !isCounted) return done();
    const counted = (): void => {
      if (isCounted) void reply.headers(limits.take(request.principal, request.ip));
    };
    Promise.resolve(pending)
      .then(counted)
      .then(() => done(), done);
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
  if (request.is404) return 'public';
  throw new Error('A route was added before its access could be checked');
}

/** Lists are what their reader sees; all else differs only where not everybody may read it. */
const varies = (url: string, { anybody }: AccessOptions['identity']): boolean =>
  !anybody.grants.everywhere('read') || LISTS.has(url);

const LISTS: ReadonlySet<string> = new Set(['/kos', '/kos/:naan', '/endpoints', '/endpoints/:engine']);

function varyByLogin(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  const before = reply.getHeader('vary');
  void reply.header('vary', before === undefined ? 'Authorization' : `${String(before)}, Authorization`);
  done(null, payload);
}

/** The knowledge objects that the path of a request names. */
function resourceOf({ params, query }: FastifyRequest): Resource {
  const { naan, name, version = versionIn(query) } = (params ?? {}) as Resource;
  return {
    ...(naan !== undefined && { naan }),
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
  };
}

function versionIn(query: unknown): string | undefined {
  const { v } = (query ?? {}) as { readonly v?: unknown };
  return typeof v === 'string' ? v : undefined;
}

/** Sets the principal, and rejects for one that may not go on; undefined where there is nothing to wait for. */
function createAuthentication(
  { identity, observe }: AccessOptions,
  refused: RefusedRequests,
): (request: FastifyRequest, access: Permission) => Promise<void> | undefined {
  const { anybody } = identity;
  const note = (request: FastifyRequest, access: Permission, why: LoginRefusal): void => {
    observe?.(why);
    if (isChange(access)) refused.change(request, why);
  };

  const identify = async (request: FastifyRequest, access: Permission): Promise<Principal | undefined> => {
    try {
      const { principal, wrong } = await identity.identify(credentialsOf(request));
      if (wrong !== undefined) refused.login(request, 'wrong', wrong);
      if (principal === undefined) note(request, access, wrong === undefined ? 'missing' : 'wrong');
      return principal;
    } catch (thrown) {
      if (thrown instanceof ServiceError) refused.login(request, 'unchecked', { cause: causeOf(thrown) });
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
    // The handler asks again, with the knowledge object at hand.
    if (access === 'read' || access === 'execution') return;
    const { naan, name = '', version = '' } = resource;
    if (naan === undefined && isAskedForEach(access) && principal.grants.somewhere(access)) return;
    note(request, access, 'scope');
    // What one may not read is like what is not there.
    if (naan !== undefined && !identity.allows(principal, 'read', resource))
      throw koNotFound(withoutEndSlashes(koKey({ naan, name, version })));
    throw identity.refusal(principal, authorization);
  };
  /** "Wrong credentials are 401 on secured paths; on open ones they count as none." */
  const recognise = async (request: FastifyRequest, access: Permission): Promise<void> => {
    const identified =
      access === 'health' ? identify(request, access) : identity.identify(credentialsOf(request)).then(toPrincipal);
    request.principal = (await identified.catch(() => undefined)) ?? anybody;
  };

  return (request, access) => {
    const resource = resourceOf(request);
    if (!identity.allows(anybody, access, resource)) return require(request, access, resource);
    const tells = (access === 'health' && !anybody.grants.everywhere('info')) || access === 'execution';
    return tells && hasCredentials(request) ? recognise(request, access) : undefined;
  };
}

const toPrincipal = ({ principal }: Identified): Principal | undefined => principal;

const credentialsOf = ({ headers, ip, raw }: FastifyRequest): Credentials => ({
  authorization: headers.authorization,
  address: ip,
  certificate: certificateOf(raw.socket),
});

const hasCredentials = ({ headers, raw }: FastifyRequest): boolean =>
  headers.authorization !== undefined || certificateOf(raw.socket) !== undefined;

/** Too many tries have none. */
const causeOf = ({ cause, message }: ServiceError): string => (cause === undefined ? message : messageOf(cause));
