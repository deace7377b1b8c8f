/** The HTTP service: access rules first, then the routes, then the fast paths before them. */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { ServiceEvents, ServiceState } from './service-events.ts';
import type { Activator } from '../activation/activator.ts';
import type { Build } from '../build.ts';
import type { Config } from '../config/config.ts';
import type { WallsReport } from '../confinement/report-walls.ts';
import type { CallTokens } from '../engines/call-token.ts';
import { REQUEST_ID_HEADER } from '../engines/call-headers.ts';
import type { ConsoleLines } from '../engines/console-lines.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import type { RuntimeRegistry } from '../engines/external/runtime-registry.ts';
import type { Execution } from '../execution/execution.ts';
import type { FailureGroups } from '../execution/failure-groups.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Accounts } from '../identity/accounts.ts';
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
import { Bodies, installBodyParser } from './body.ts';
import { closeSilentConnections, createFastify } from './create-fastify.ts';
import { installFastPaths, type FastPath } from './fast-path.ts';
import { hostProblem, refuseOddHosts } from './host-header.ts';
import { fastReads, KO_ROUTE } from './kos/fast-reads.ts';
import type { EndpointTexts } from './listings/endpoint-texts.ts';
import type { MakeProtocol } from './protocol.ts';
import { RequestGate } from './request-gate.ts';
import { addRoutes } from './routes.ts';
import { traceRequests } from './trace-requests.ts';

export interface ServerOptions {
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
  const app = createFastify(config, gate.ids, log, streaming);
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
