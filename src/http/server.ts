/** The HTTP service: access rules first, then the routes, then what happens to errors. */
import multipart from '@fastify/multipart';
import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import { hostname } from 'node:os';
import type { Activator } from '../activation/activator.ts';
import { Calls } from '../calls/calls.ts';
import { FailedCalls } from '../calls/failed-calls.ts';
import { HeldBytes } from '../calls/held-bytes.ts';
import type { Config } from '../config/config.ts';
import { REQUEST_ID_HEADER } from '../engines/call-headers.ts';
import type { RuntimeRegistry } from '../engines/remote/runtime-registry.ts';
import type { CallTokens } from '../engines/call-token.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { notFound, overloaded } from '../lib/errors.ts';
import { isLoopback } from '../lib/loopback.ts';
import type { AuditStore } from '../shelf/audit-store.ts';
import type { ImportTarget } from '../shelf/import/import-zip.ts';
import type { ManifestImporter } from '../shelf/manifest-importer.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { installAccess } from './access/install-access.ts';
import { activationRoutes } from './activation-routes.ts';
import { auditRoutes } from './audit-routes.ts';
import { Bodies, installBodyParser } from './body.ts';
import { answerBrokenRequests } from './broken-requests.ts';
import { endpointRoutes } from './endpoint-routes.ts';
import { badUrl, pathOf, sendError } from './errors.ts';
import { HttpCalls } from './execution/calls.ts';
import { executionRoutes } from './execution/execution-routes.ts';
import { fastCalls } from './execution/fast-calls.ts';
import { refuseOddHosts } from './host-header.ts';
import { healthRoutes } from './health-routes.ts';
import { kosRoutes } from './kos/kos-routes.ts';
import { fastReads } from './kos/fast-reads.ts';
import { EndpointTexts } from './listings/endpoint-texts.ts';
import { pageDataRoutes } from './pages/page-data.ts';
import { pageRoutes } from './pages/send-page.ts';
import { installMethods } from './methods.ts';
import { RequestGate } from './request-gate.ts';
import { installFastPaths } from './fast-path.ts';
import { openapiRoutes } from './openapi-routes.ts';
import { proxyRoutes } from './proxy-routes.ts';
import { rootRoutes } from './root-routes.ts';

export interface ServerOptions {
  readonly config: Config;
  readonly shelf: Shelf;
  readonly activator: Activator;
  readonly engines: EngineRegistry;
  readonly manifests: ManifestImporter;
  readonly imports: ImportTarget;
  readonly runtimes: RuntimeRegistry;
  readonly tokens: CallTokens;
  readonly isOwnRuntime: (request: FastifyRequest) => boolean;
  readonly version: string;
  readonly lifecycle: Lifecycle;
  readonly log: FastifyBaseLogger;
  readonly lostLines: () => number;
  /** None on a read-only shelf. */
  readonly auditStore: AuditStore | undefined;
}

/** Paths of a package can be long; the router's own limit is 100 characters a segment. */
const MAX_SEGMENT_CHARACTERS = 1024;
const HEADERS_TIMEOUT_MS = 10_000;
/** A connection on which nothing moves, such as that of a client that does not read its answer. */
const SILENT_TIMEOUT_MS = 120_000;
/** More than what proxies keep connections open for, so that they close first. */
const KEEP_ALIVE_MS = 65_000;

/** Routes check by code of their own; the compilers of schemas are a tenth of the processor time of a start. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

function noSchemas(): never {
  throw new TypeError('Routes have no schemas here');
}

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { config, shelf, activator, engines } = options;
  const log = options.log.child({ part: 'http' }, { level: options.log.level === 'info' ? 'warn' : options.log.level });
  const gate = new RequestGate({ profile: config.profile, secureExecution: config.secureExecution, log });
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: config.trustProxy,
    bodyLimit: config.limits.body,
    requestTimeout: config.limits.upload,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionTimeout: SILENT_TIMEOUT_MS,
    exposeHeadRoutes: false,
    // What comes on open connections while the service stops is answered, and its connection closed.
    return503OnClosing: false,
    schemaController: NO_SCHEMAS,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_SEGMENT_CHARACTERS },
    http: {
      // `host-header.ts` says it in words.
      requireHostHeader: false,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, config.limits.request),
      connectionsCheckingInterval: 1000,
    },
    frameworkErrors: (error, request, reply) => {
      const refused = error.code === 'FST_ERR_BAD_URL' ? badUrl(pathOf(request.url)) : error;
      // The router refused the URL before any route was known.
      void sendError(request, reply, refused);
    },
    genReqId: gate.ids.of,
    clientErrorHandler: answerBrokenRequests(gate.ids),
  });
  // A logger for each request would cost more than most requests log; what is logged names the request's id.
  app.setChildLoggerFactory((logger) => logger);
  installMethods(app);
  app.server.maxConnections = config.limits.connections;

  let executed = 0;
  app.addHook('onRequest', (request, reply, done) => {
    gate.count();
    // What is sent is what its Content-Type says, whatever a browser thinks of its bytes.
    void reply.header('x-content-type-options', 'nosniff').header(REQUEST_ID_HEADER, request.id);
    const isTooLate = options.lifecycle.late.has(request.raw.socket) && !isHealth(request.url);
    done(isTooLate ? overloaded('The service is stopping and begins nothing new; try again later') : undefined);
  });
  installAccess(app, {
    profile: config.profile,
    secureExecution: config.secureExecution,
    ...(config.basic === undefined ? {} : { basic: config.basic }),
    ...(config.oauth === undefined ? {} : { oauth: config.oauth }),
    corsOrigins: config.cors,
    loopbackOnly: isLoopback(config.host),
    publicHosts: config.publicUrl === undefined ? [] : [new URL(config.publicUrl).host],
    allowedHosts: [...config.allowedHosts, ...config.cors.map((origin) => new URL(origin).hostname), ...machineNames()],
    isOwnRuntime: options.isOwnRuntime,
    log: options.log,
    auditStore: options.auditStore,
  });
  const held = new HeldBytes(config.limits.held);
  const failures = new FailedCalls(options.log.child({ part: 'calls' }));
  app.addHook('onClose', (_app, done) => {
    failures[Symbol.dispose]();
    done();
  });
  const invoked = new Calls({ held, failures, observe: () => executed++ });
  const calls = new HttpCalls({ held, tokens: options.tokens, gate, calls: invoked });
  const bodies = new Bodies({ bytes: config.limits.body, time: config.limits.request }, held);
  installBodyParser(app, bodies);
  app.setErrorHandler((error, request, reply) => sendError(request, reply, error));
  app.setNotFoundHandler((request, reply) =>
    sendError(request, reply, notFound(`There is nothing at ${pathOf(request.url)}`)),
  );

  rootRoutes(app, config.publicUrl);
  pageRoutes(app);
  pageDataRoutes(app, {
    activator,
    shelf,
    login: { execution: gate.isClosed('execution'), details: gate.isClosed('info') },
  });
  openapiRoutes(app);
  const texts = new EndpointTexts();
  endpointRoutes(app, { activator, publicUrl: config.publicUrl, texts });
  activationRoutes(app, activator);
  proxyRoutes(app, {
    activator,
    runtimes: options.runtimes,
    isOwnRuntime: options.isOwnRuntime,
    publicUrl: config.publicUrl,
  });
  auditRoutes(app, options.auditStore);
  healthRoutes(app, {
    activator,
    shelf,
    engines,
    version: options.version,
    lifecycle: options.lifecycle,
    totals: () => ({ requests: gate.requests, calls: executed }),
    lostLines: options.lostLines,
  });
  await app.register(async (scope) => {
    await scope.register(multipart);
    kosRoutes(scope, { ...options.imports, manifests: options.manifests, activator }, texts);
  });
  executionRoutes(app, { activator, shelf, calls, arriving: () => options.lifecycle.manifests.arriving });

  const paths = [
    ...(gate.isClosed('execution') ? [] : [fastCalls({ activator, calls, bodies, gate })]),
    fastReads(shelf, gate),
  ];
  // Once the service stops, the router ends connections as it answers.
  installFastPaths(app.server, paths, () => !options.lifecycle.stopping);
  installFastPaths(app.server, [refuseOddHosts(gate)], () => true);
  return app;
}

const isHealth = (url: string): boolean => /^\/actuator\/health(\/|$)/.test(pathOf(url));

/** With its domain and without. */
function machineNames(): string[] {
  const name = hostname();
  return [name, name.split('.', 1)[0] ?? name];
}
