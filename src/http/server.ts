/** The HTTP service: access rules first, then the routes, then the fast paths before them. */
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { AddressInfo, Socket } from 'node:net';
import type { Activator } from '../activation/activator.ts';
import type { Build } from '../build.ts';
import type { CallChecks } from '../calls/call-checks.ts';
import { Calls } from '../calls/calls.ts';
import { ExecutionLog } from '../calls/execution-log.ts';
import { FailedCalls } from '../calls/failed-calls.ts';
import type { FailureGroups } from '../calls/failure-groups.ts';
import { HeldBytes } from '../calls/held-bytes.ts';
import type { Config } from '../config/config.ts';
import { REQUEST_ID_HEADER } from '../engines/call-headers.ts';
import type { CallTokens } from '../engines/call-token.ts';
import type { ConsoleLines } from '../engines/console-lines.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import type { RuntimeRegistry } from '../engines/external/runtime-registry.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { LogLevels } from '../lib/log-levels.ts';
import { outcomeOf, overloaded } from '../lib/errors.ts';
import type { AuditStore } from '../shelf/audit/audit-store.ts';
import type { ImportTarget } from '../shelf/import/import-zip.ts';
import type { ManifestImporter } from '../shelf/manifest-importer.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { accessOptionsOf } from './access/access-options.ts';
import { installAccess } from './access/install-access.ts';
import { Bodies, installBodyParser } from './body.ts';
import { createFastify } from './create-fastify.ts';
import { pathOf } from './errors.ts';
import { Collector, figuresOf } from '../metrics/collect.ts';
import { Exposition } from '../metrics/exposition.ts';
import { History } from '../metrics/history.ts';
import type { Measured } from '../metrics/measured.ts';
import { ProcessReader } from '../metrics/process-figures.ts';
import { ShelfReader } from '../metrics/shelf-figures.ts';
import { ServiceEvents } from './events/service-events.ts';
import { ServiceState } from './events/service-state.ts';
import { Batches } from './execution/batch/batches.ts';
import { HttpCalls } from './execution/calls.ts';
import { Provenance } from './execution/provenance.ts';
import { fastCalls } from './execution/fast-calls.ts';
import type { WallsReport } from '../confinement/report-walls.ts';
import { installFastPaths, type FastPath } from './fast-path.ts';
import { refuseOddHosts } from './host-header.ts';
import { fastReads } from './kos/fast-reads.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { RequestGate } from './request-gate.ts';
import { closeSilentConnections } from './silent-connections.ts';
import { EndpointTexts } from './listings/endpoint-texts.ts';
import { addRoutes } from './routes.ts';
import { traceRequests } from './trace-requests.ts';
import { traceCalls } from '../tracing/trace-calls.ts';
import type { Tracer } from '../tracing/tracer.ts';

export interface ServerOptions {
  readonly config: Config;
  readonly shelf: Shelf;
  readonly activator: Activator;
  readonly engines: EngineRegistry;
  readonly walls: WallsReport;
  readonly manifests: ManifestImporter;
  readonly imports: ImportTarget;
  readonly runtimes: RuntimeRegistry;
  readonly tokens: CallTokens;
  readonly fleet: Fleet | undefined;
  readonly checks: CallChecks | undefined;
  /** What is counted as it happens. */
  readonly measured: Measured;
  /** Undefined where nothing is traced. */
  readonly tracer: Tracer | undefined;
  readonly build: Build;
  readonly lifecycle: Lifecycle;
  readonly log: FastifyBaseLogger;
  readonly levels: LogLevels;
  readonly consoles: ConsoleLines;
  readonly lostLines: () => number;
  /** What failed lately. */
  readonly failures: FailureGroups;
  /** Folder for what lies on disk for a moment. */
  readonly spool: string;
  /** None on a read-only shelf. */
  readonly auditStore: AuditStore | undefined;
}

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { config, shelf, activator, engines, lifecycle, measured, tracer } = options;
  const log = options.log.child({ part: 'http' });
  const gate = new RequestGate({
    profile: config.profile,
    secureExecution: config.secureExecution,
    requests: measured.requests,
    log,
  });
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
  const first = tracer && traceRequests(app, tracer, gate.ids);
  const observeLogins = (why: string): void => measured.loginsRefused.add(why);
  installAccess(app, accessOptionsOf(config, { ...options, observe: observeLogins }));

  const held = new HeldBytes(config.limits.held);
  const failures = new FailedCalls(
    options.log.child({ part: 'calls' }),
    { inputs: config.logInputs, messages: config.logMessages },
    options.failures,
  );
  app.addHook('onClose', (_app, done) => {
    failures[Symbol.dispose]();
    done();
  });
  let executed = 0;
  const texts = new EndpointTexts();
  const invoked = new Calls({
    ...{ held, failures, checks: options.checks },
    executions: config.logExecutions
      ? new ExecutionLog(options.log.child({ part: 'calls' }), config.logInputs)
      : undefined,
    tracer: tracer && traceCalls(tracer),
    observe: (endpoint, outcome, _start, milliseconds, count) => {
      executed += count;
      measured.executions.observe(endpoint, outcome, milliseconds / 1000, count);
    },
    // Code that asks comes by no address.
    describe: (endpoint) => texts.of(endpoint, config.publicUrl ?? ownAddress(app)),
  });
  const provenance = config.provenance
    ? new Provenance({ version: options.build.version, node: () => options.fleet?.id })
    : undefined;
  const calls = new HttpCalls({ held, tokens: options.tokens, gate, calls: invoked, provenance });
  const bodies = new Bodies({ bytes: config.limits.body, time: config.limits.request }, held);
  installBodyParser(app, bodies, ({ target }) => target?.records !== undefined);
  const batches = new Batches({
    calls: invoked,
    gate,
    held,
    tokens: options.tokens,
    streaming,
    lifecycle,
    spool: options.spool,
    mostSpooled: config.limits.batchSpool,
    idle: config.limits.batchIdle,
    longestCall: Math.max(config.limits.execution, config.limits.runtime, config.limits.endpoint),
    mostBytes: config.limits.body,
    log: options.log.child({ part: 'batches' }),
  });
  const collector = new Collector({
    ...{ measured, activator, engines, shelf, build: options.build, lostLines: options.lostLines },
    auditLost: () => app.audit.lost,
    isConfined: options.walls.status === 'UP',
    shelfFigures: new ShelfReader(shelf),
    processes: new ProcessReader(() => figuresOf(engines)),
    batches: () => batches.figures(),
    held: () => held.held,
    isReady: () => lifecycle.ready,
    queueLimit: config.limits.queue,
    fleet: () => options.fleet?.figures(),
  });
  const exposition = new Exposition(() => collector.all());
  const { executions } = measured;
  const history = new History({ executions, letGo: () => executions.keepOnly(activator.set) });
  app.addHook('onClose', (_app, done) => {
    history[Symbol.dispose]();
    done();
  });
  const state = new ServiceState({
    ...{ activator, shelf, engines, lifecycle, history },
    activations: () => measured.activationCount,
  });
  const events = new ServiceEvents({
    state,
    audit: options.auditStore,
    onProblem: (cause) => log.warn({ event: 'events-incomplete', cause }, 'those who follow events are not told all'),
  });
  await addRoutes(app, {
    ...options,
    gate,
    calls,
    batches,
    texts,
    exposition,
    history,
    events,
    state,
    onNotActive: (endpoint, refusal) => {
      failures.note(refusal, { endpoint, trace: undefined, input: '', json: false });
      measured.executions.observe(endpoint, outcomeOf(refusal), 0, 1);
    },
    executed: () => executed,
  });

  // Once the service stops, the router ends connections as it answers.
  const whileOpen =
    (path: FastPath): FastPath =>
    (request, response, next) =>
      lifecycle.leaving ? next(request, response) : path(request, response, next);
  const paths = [
    ...(first === undefined ? [] : [first]),
    refuseOddHosts(gate),
    ...(gate.isClosed('execution') ? [] : [whileOpen(fastCalls({ activator, calls, bodies, gate }))]),
    whileOpen(fastReads(shelf, gate)),
  ];
  installFastPaths(app.server, paths, (thrown, request, response) => gate.fail(request, response, thrown));
  closeSilentConnections(app.server);
  owned.move();
  return app;
}

/** Under which the service reaches itself. */
function ownAddress(app: FastifyInstance): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

const isHealth = (url: string): boolean => /^\/actuator\/health(\/|$)/.test(pathOf(url));
