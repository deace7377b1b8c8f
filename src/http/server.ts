/** The HTTP service: access rules first, then the routes, then the fast paths before them. */
import type { Socket } from 'node:net';
import multipart from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { Build } from '../build.ts';
import type { Config } from '../config/config.ts';
import type { WallsReport } from '../confinement/report-walls.ts';
import { REQUEST_ID_HEADER } from '../engines/call-headers.ts';
import type { CallTokens } from '../engines/call-token.ts';
import type { ConsoleLines } from '../engines/console-lines.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import type { RuntimeRegistry } from '../engines/external/runtime-registry.ts';
import type { Execution } from '../execution/execution.ts';
import type { FailureGroups } from '../execution/failure-groups.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Accounts } from '../identity/accounts.ts';
import { Passwords } from '../identity/passwords.ts';
import { overloaded } from '../lib/errors.ts';
import type { LogLevels } from '../lib/log-levels.ts';
import type { Logger } from '../lib/log.ts';
import { pathOf } from '../lib/url-path.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { Exposition } from '../metrics/exposition.ts';
import type { History } from '../metrics/history.ts';
import type { Measured } from '../metrics/measured.ts';
import type { AuditStore } from '../shelf/audit/audit-store.ts';
import type { ImportTarget } from '../shelf/import/import-zip.ts';
import type { ManifestImporter } from '../shelf/manifest/create-manifest-importer.ts';
import type { Shelf } from '../shelf/shelf.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { accessOptionsOf, installAccess } from './access/install-access.ts';
import { webRoutes } from '../web/web-routes.ts';
import { accountRoutes } from './account-routes.ts';
import { activationRoutes } from './activation-routes.ts';
import {
  auditRoutes,
  failureRoutes,
  fleetRoutes,
  historyRoutes,
  metricsRoutes,
  problemRoutes,
  removedRoutes,
  settingsRoutes,
} from './actuator-routes.ts';
import { Bodies, installBodyParser } from './body.ts';
import { closeSilentConnections, createFastify } from './create-fastify.ts';
import { type FastPath, installFastPaths } from './fast-path.ts';
import { healthRoutes } from './health-routes.ts';
import { hostProblem, refuseOddHosts } from './host-header.ts';
import { checkRoute } from './kos/check-route.ts';
import { fastReads, KO_ROUTE } from './kos/fast-reads.ts';
import { kosRoutes } from './kos/kos-routes.ts';
import type { EndpointTexts } from './listings/endpoint-texts.ts';
import { logRoutes } from './log-routes.ts';
import type { MakeProtocol, Protocol } from './protocol.ts';
import { proxyRoutes } from './proxy-routes.ts';
import { RequestGate } from './request-gate.ts';
import { openapiRoutes, rootRoutes } from './root-routes.ts';
import { eventRoutes, type ServiceEvents, type ServiceState } from './service-events.ts';
import { readTls, watchTls } from './tls.ts';
import { traceRequests } from './trace-requests.ts';

interface ServerOptions {
  readonly config: Config;
  readonly shelf: Shelf;
  readonly activator: Activator;
  readonly execution: Execution;
  readonly protocols: readonly MakeProtocol[];
  readonly engines: EngineRegistry;
  readonly walls: WallsReport;
  readonly manifests: ManifestImporter;
  readonly imports: ImportTarget;
  readonly runtimes: RuntimeRegistry;
  readonly tokens: CallTokens;
  readonly accounts: Accounts;
  readonly fleet: Fleet | undefined;
  /** Of requests and logins. */
  readonly measured: Pick<Measured, 'requests' | 'loginsRefused'>;
  readonly exposition: Exposition;
  readonly history: History;
  readonly events: ServiceEvents;
  readonly state: ServiceState;
  readonly texts: EndpointTexts;
  /** Undefined where nothing is traced. */
  readonly tracer: Tracer | undefined;
  readonly build: Build;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly levels: LogLevels;
  readonly consoles: ConsoleLines;
  readonly lostLines: () => number;
  /** What failed lately. */
  readonly failures: FailureGroups;
  /** None on a read-only shelf. */
  readonly auditStore: AuditStore | undefined;
}

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { config, shelf, execution, lifecycle, measured, tracer } = options;
  const { identity } = execution;
  const log = options.log.child({ part: 'http' });
  const gate = new RequestGate({ requests: measured.requests, log });
  await using owned = new AsyncDisposableStack();
  const streaming = new WeakSet<Socket>();
  const tls = config.tls === undefined ? undefined : await readTls(config.tls);
  const app = createFastify(config, gate.ids, log, streaming, tls);
  if (config.tls !== undefined) {
    const watched = watchTls(app.server, config.tls, log);
    app.addHook('onClose', () => Promise.resolve(watched[Symbol.dispose]()));
  }
  owned.defer(() => app.close());
  app.addHook('onRequest', (request, reply, done) => {
    gate.count();
    // What is sent is what its Content-Type says, whatever a browser thinks of its bytes.
    void reply.header('x-content-type-options', 'nosniff').header(REQUEST_ID_HEADER, request.id);
    const isTooLate = lifecycle.late.has(request.raw.socket) && !isHealth(request.url);
    done(isTooLate ? overloaded('The service is stopping and begins nothing new; try again later') : undefined);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    measured.requests.of(routeOptions.url, method).observe(reply.statusCode, reply.elapsedTime / 1000);
    done();
  });
  refuseOddHosts(app);
  const fastRoutes = new Map([['GET', KO_ROUTE]]);
  const first = tracer && traceRequests(app, tracer, gate.ids, fastRoutes);
  const observeLogins = (why: string): void => measured.loginsRefused.add(why);
  installAccess(app, accessOptionsOf(config, { ...options, identity, observe: observeLogins }));

  const bodies = new Bodies({ bytes: config.limits.body, time: config.limits.request }, execution.held);
  installBodyParser(app, bodies);
  const service = { gate, bodies, streaming, lifecycle, log: options.log };
  const protocols = options.protocols.map((make) => make(execution, service));
  const fast = protocols.flatMap((each) => each.fast ?? []);
  for (const { method, route } of fast) fastRoutes.set(method, route);
  await addRoutes(app, { ...options, gate, protocols });

  // Once the service stops, the router ends connections as it answers; it refuses hosts that disagree.
  const whileOpen =
    (path: FastPath): FastPath =>
    (request, response, next) =>
      lifecycle.leaving || hostProblem(request) !== undefined ? next(request, response) : path(request, response, next);
  const paths = [
    ...(first === undefined ? [] : [first]),
    ...fast.map(({ path }) => whileOpen(path)),
    whileOpen(fastReads(shelf, identity, gate)),
  ];
  installFastPaths(app.server, paths, (thrown, request, response) => gate.fail(request, response, thrown));
  closeSilentConnections(app.server);
  owned.move();
  return app;
}

const isHealth = (url: string): boolean => /^\/actuator\/health(\/|$)/.test(pathOf(url));

/** All routes of the service. */
interface RouteParts extends Omit<ServerOptions, 'protocols'> {
  readonly gate: RequestGate;
  readonly protocols: readonly Protocol[];
}

async function addRoutes(app: FastifyInstance, parts: RouteParts): Promise<void> {
  const { config, shelf, activator, engines, execution, lifecycle, gate, texts } = parts;
  const { publicUrl } = config;
  rootRoutes(app, publicUrl);
  webRoutes(app, { activator, shelf, token: () => parts.state.catalogue() });
  openapiRoutes(app);
  activationRoutes(app, activator);
  proxyRoutes(app, { activator, runtimes: parts.runtimes, publicUrl, fleet: parts.fleet, tokens: parts.tokens });
  auditRoutes(app, parts.auditStore);
  fleetRoutes(app, parts.fleet);
  removedRoutes(app, shelf, parts.auditStore);
  problemRoutes(app, activator, shelf);
  healthRoutes(app, {
    activator,
    shelf,
    engines,
    walls: parts.walls,
    fleet: parts.fleet,
    build: parts.build,
    lifecycle,
    totals: () => ({ requests: gate.requests, calls: execution.executed }),
    lostLines: parts.lostLines,
  });
  logRoutes(app, { activator, shelf, consoles: parts.consoles, levels: parts.levels });
  historyRoutes(app, parts.history);
  failureRoutes(app, { failures: parts.failures, shelf });
  eventRoutes(app, { events: parts.events, lifecycle });
  accountRoutes(app, { accounts: parts.accounts, passwords: new Passwords(), operator: config.basic?.user });
  settingsRoutes(app, config.changed);
  metricsRoutes(app, { exposition: parts.exposition });
  await app.register(async (scope) => {
    await scope.register(multipart);
    checkRoute(scope, { target: parts.imports, lifecycle, runtimes: config.runtimes });
    kosRoutes(scope, { ...parts.imports, manifests: parts.manifests, activator, events: parts.events }, texts);
  });
  for (const protocol of parts.protocols) protocol.addRoutes(app);
}
