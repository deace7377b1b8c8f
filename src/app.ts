/** Builds the service from its configuration; nothing here listens yet. */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Activator } from './activation/activator.ts';
import { judgeAgain } from './activation/judge-again.ts';
import { KnownPackages } from './activation/known-packages.ts';
import { fullVersion, type Build } from './build.ts';
import { packageLimitsOf, type Config } from './config/config.ts';
import { findKernel } from './confinement/find-kernel.ts';
import { logWalls, reportWalls } from './confinement/report-walls.ts';
import { CallTokens } from './engines/call-token.ts';
import { ConsoleLines } from './engines/console-lines.ts';
import { EngineRegistry } from './engines/engine-registry.ts';
import { RuntimeRegistry } from './engines/external/runtime-registry.ts';
import { startManagedWorkers } from './engines/external/start-managed-workers.ts';
import { makeEngines } from './engines/table.ts';
import { CallChecks } from './execution/call-checks.ts';
import { ExecutionLog } from './execution/execution-log.ts';
import { Execution } from './execution/execution.ts';
import { FailedCalls } from './execution/failed-calls.ts';
import { FailureGroups } from './execution/failure-groups.ts';
import { Provenance } from './execution/provenance.ts';
import { SchemaChecks } from './execution/validation/schema-checks.ts';
import { Fleet } from './fleet/fleet.ts';
import { EndpointTexts } from './http/listings/endpoint-texts.ts';
import { MEASURED_METHODS } from './http/methods.ts';
import type { MakeProtocol } from './http/protocol.ts';
import { createServer } from './http/server.ts';
import { ServiceEvents, ServiceState } from './http/service-events.ts';
import { Accounts } from './identity/accounts.ts';
import { Identity } from './identity/identity.ts';
import { PrincipalLimits } from './identity/principal-limits.ts';
import { BackgroundReader } from './knowledge-object/descriptors/background-reader.ts';
import { messageOf } from './lib/errors.ts';
import { LogLevels } from './lib/log-levels.ts';
import type { Logger } from './lib/log.ts';
import type { Lifecycle } from './lifecycle.ts';
import { Collector, figuresOf, ProcessReader, ShelfReader } from './metrics/collect.ts';
import { Exposition } from './metrics/exposition.ts';
import { History } from './metrics/history.ts';
import { Measured } from './metrics/measured.ts';
import { cdsHooks } from './protocols/cds-hooks/cds-hooks.ts';
import { fhir } from './protocols/fhir/fhir.ts';
import { kgrid } from './protocols/kgrid/kgrid.ts';
import { mcp } from './protocols/mcp/mcp.ts';
import { discardRegularly, scrub } from './shelf/scrub.ts';
import { createManifestImporter, type ManifestImporter } from './shelf/manifest/create-manifest-importer.ts';
import { openStorage } from './shelf/open-storage.ts';
import { Trust } from './shelf/package/signatures/trust.ts';
import type { SharedShelf } from './shelf/store/stored-shelf.ts';
import { openTracer } from './tracing/open-tracer.ts';
import { traceCalls, traceEntries, traceShelf } from './tracing/tracer.ts';

export interface App extends AsyncDisposable {
  readonly server: FastifyInstance;
  readonly shelf: SharedShelf;
  readonly activator: Activator;
  readonly engines: EngineRegistry;
  readonly manifests: ManifestImporter;
  /** This activator, and the others that share its shelf. */
  readonly fleet: Fleet;
  readonly runtimes: RuntimeRegistry;
  readonly tokens: CallTokens;
  /** Starts the runtimes that come with the service; resolves before they are there. */
  startRuntimes(): Promise<void>;
}

export interface AppOptions {
  readonly config: Config;
  /** Location of the shelf. */
  readonly shelf: string;
  readonly build: Build;
  readonly lifecycle: Lifecycle;
  /** What runtimes are started with. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where runtimes keep what they fetched and installed, if not in the state folder. */
  readonly cache?: string;
  readonly log: Logger;
  /** Lines of the log that its reader did not take. */
  readonly lostLines: () => number;
  /** Ways to call endpoints beside that of the specification. */
  readonly protocols?: readonly MakeProtocol[];
}

/** Of what is read of packages: raised when more is, so that none is taken from before. */
const READINGS_FORM = 5;

/** Where it throws, all that was made before is ended. @throws startRefused. */
export async function createApp({
  config,
  shelf: location,
  build,
  lifecycle,
  environment,
  cache,
  log,
  lostLines,
  protocols = [],
}: AppOptions): Promise<App> {
  await using owned = new AsyncDisposableStack();
  const { version } = build;
  const levels = new LogLevels(log);
  const onWarning = (message: string, cause?: unknown): void =>
    log.warn({ part: 'shelf', ...(cause === undefined ? {} : { cause: messageOf(cause) }) }, message);
  const tracer = owned.use(
    await openTracer(environment, version, (message, cause) =>
      log.warn({ part: 'traces', ...(cause === undefined ? {} : { cause: messageOf(cause) }) }, message),
    ),
  );
  const descriptors = owned.use(new BackgroundReader());
  const measured = new Measured({ endpoints: config.metricsEndpoints, methods: MEASURED_METHODS });
  const observe = (outcome: string): void => measured.imports.add(outcome);
  const rules = { limits: packageLimitsOf(config.limits), descriptors, observe };
  const scheme = config.tls === undefined ? 'http' : 'https';
  // Which port it is, the system says later where it may choose one.
  const address = config.port === 0 ? undefined : `${scheme}://${config.host}:${config.port}`;
  const places = { address, onWarning };
  const storage = owned.use(
    await openStorage({
      ...places,
      location,
      folder: config.state,
      maxAudit: config.limits.audit,
      defaultNaan: config.defaultNaan,
      keepRemoved: config.keepRemoved,
      isReadOnly: config.readOnly,
      archives: rules,
      fleet: config.fleet,
      passwords: { file: config.shelfPassword, environment },
      stopped: lifecycle.stopped,
    }),
  );
  const { shelf, state, audit: auditStore } = storage;
  const trust = owned.use(await Trust.open({ file: config.trustPolicy, warn: onWarning }));
  shelf.trust = trust;
  if (tracer !== undefined) traceShelf(tracer, shelf);
  const fleet = owned.use(
    new Fleet({
      shelf,
      name: config.fleet,
      startsWith: config.startsWith,
      runtimeExpiry: config.limits.runtimeExpiry,
      notedHistory: state.notedHistory,
      node: { version: fullVersion(build), settings: config.agreed },
      log: log.child({ part: 'fleet' }),
    }),
  );
  const sharing = fleet.isShared ? fleet : undefined;
  const known = await KnownPackages.open(state.knownPackages, `${version} ${process.version} ${READINGS_FORM}`);
  owned.defer(() => known.save());
  const engines = owned.use(new EngineRegistry());
  const consoles = new ConsoleLines();
  const kernel = await findKernel(config.walls);
  logWalls(config.walls, kernel, log.child({ part: 'walls' }));
  const tokens = new CallTokens(config.callKey);
  const runtimes = owned.use(
    new RuntimeRegistry({
      engines,
      callTimeout: config.limits.runtime,
      activationTimeout: config.limits.activation,
      maxResult: config.limits.result,
      queueLimit: config.limits.queue,
      tokens,
      areFilesClosed: config.anonymous === 'none',
      expiry: config.limits.runtimeExpiry,
      sharing: () => fleet.sharing,
      stopped: lifecycle.stopped,
      log: log.child({ part: 'runtimes' }),
    }),
  );
  await makeEngines({ config, known, kernel, engines, consoles, log }, (name) => runtimes.engine(name));
  const failures = new FailureGroups();
  let toolsMayChange = (): void => undefined;
  const activator = owned.use(
    new Activator({
      shelf: fleet.kos,
      ...(!shelf.database.isShared && { opensLater: shelf }),
      requireTrusted: (pkg) => shelf.requireTrusted(pkg),
      isTrustAsked: () => trust.isAsked,
      onGone: (ko) => consoles.forget(ko),
      engines,
      known,
      descriptors,
      maxTimeout: config.limits.endpoint,
      servesLibraries: config.servesLibraries,
      order: (change, about, author) => fleet.order(change, about, author),
      observe: (endpoint, milliseconds) => {
        measured.activated(endpoint, milliseconds);
        toolsMayChange();
      },
      onFailed: (failed) => failures.noteActivation(failed),
      log: log.child({ part: 'activation' }),
    }),
  );
  trust.onChange = () => void judgeAgain({ activator, shelf, onWarning });
  const discardRemoved = async (): Promise<number> => {
    await auditStore?.trim();
    return shelf.discardRemoved();
  };
  owned.use(discardRegularly({ discardRemoved }, onWarning));
  owned.use(
    scrub({
      shelf,
      first: activator.takenAsKnown(),
      pass: config.scrub,
      onRead: () => measured.scrubbed++,
      onDamage: ({ where, cause }, id) => {
        log.error({ event: 'damage', where, cause }, `${where} on the shelf is damaged: ${cause}`);
        // A reload that fails leaves what is there, and the shelf knows of the damage.
        void activator.foundDamaged(id).catch(() => undefined);
      },
    }),
  );
  engines.on('runtime', (engine, alone) => activator.runtimeCame(engine, alone));
  const imports = { shelf, spool: state.spool, ...rules };
  const manifests = createManifestImporter({
    config,
    target: imports,
    stopped: lifecycle.stopped,
    log: log.child({ part: 'manifest' }),
    around: tracer && traceEntries(tracer),
  });
  const schemas = owned.use(new SchemaChecks());
  const checks = owned.use(
    new CallChecks({
      schemas,
      ...config.validate,
      log: log.child({ part: 'calls' }),
      observe: (endpoint, part, what) => measured.executions.broke(endpoint, part, what),
    }),
  );
  const callLog = log.child({ part: 'calls' });
  const { rate, calls } = config.limits;
  const limits =
    rate + calls === 0
      ? undefined
      : owned.use(
          new PrincipalLimits({
            rate,
            calls,
            database: shelf.database,
            node: () => shelf.node.value,
            onProblem: (cause) =>
              log.warn(
                {
                  part: 'access',
                  event: 'shares-not-leased',
                  cause,
                },
                'limits of principals stay as shared last',
              ),
          }),
        );
  const accounts = owned.use(
    await Accounts.open(shelf.database, (cause) =>
      log.warn({ part: 'access', event: 'accounts-not-read', cause }, 'users and keys count as they were known last'),
    ),
  );
  const texts = new EndpointTexts();
  const execution = owned.use(
    new Execution({
      activator,
      shelf,
      identity: new Identity({ ...config, accounts, limits, tokens, log }),
      checks,
      mostHeld: config.limits.held,
      arriving: () => lifecycle.manifests.arriving,
      observe: (endpoint, outcome, seconds, calls) => measured.executions.observe(endpoint, outcome, seconds, calls),
      // Code that asks comes by no address.
      describe: (endpoint) => texts.of(endpoint, config.publicUrl ?? ownAddress(server, scheme)),
      failures: new FailedCalls(callLog, { inputs: config.logInputs, messages: config.logMessages }, failures),
      log: config.logExecutions ? new ExecutionLog(callLog, config.logInputs) : undefined,
      tracer: tracer && traceCalls(tracer),
      provenance: config.provenance ? new Provenance({ version, node: () => sharing?.id }) : undefined,
    }),
  );
  const walls = reportWalls(config.walls, kernel);
  const collector = new Collector({
    measured,
    activator,
    engines,
    shelf,
    build,
    lostLines,
    auditLost: () => server.audit.lost,
    isConfined: walls.status === 'UP',
    shelfFigures: new ShelfReader(shelf),
    processes: new ProcessReader(() => figuresOf(engines)),
    batches: () => execution.batches.figures(),
    held: () => execution.held.held,
    isReady: () => lifecycle.ready,
    queueLimit: config.limits.queue,
    fleet: () => sharing?.figures(),
  });
  const { executions } = measured;
  const history = owned.use(new History({ executions, letGo: () => executions.keepOnly(activator.set) }));
  const activations = (): number => measured.activationCount;
  const serviceState = new ServiceState({ activator, shelf, engines, lifecycle, history, activations });
  const events = new ServiceEvents({
    state: serviceState,
    audit: auditStore,
    onProblem: (cause) =>
      log
        .child({ part: 'http' })
        .warn({ event: 'events-incomplete', cause }, 'those who follow events are not told all'),
  });
  const batches = {
    spool: state.spool,
    mostSpooled: config.limits.batchSpool,
    idle: config.limits.batchIdle,
    longestCall: Math.max(config.limits.execution, config.limits.runtime, config.limits.endpoint),
    mostBytes: config.limits.body,
  };
  const tools =
    config.mcp === undefined
      ? []
      : [
          mcp({
            mostTools: config.mcp.mostTools,
            publicUrl: config.publicUrl,
            issuer: config.oauth?.issuer,
            version,
            database: config.readOnly ? undefined : shelf.database,
            activations,
            onActivated: (listener) => (toolsMayChange = listener),
          }),
        ];
  const server = await createServer({
    config,
    shelf,
    activator,
    execution,
    protocols: [
      kgrid({ publicUrl: config.publicUrl, texts, batches }),
      cdsHooks({
        engines,
        publicUrl: config.publicUrl,
        database: shelf.database,
        ...config.cds,
        observe: (service, client, outcome) => measured.hookAnswers.add(JSON.stringify([service, client, outcome])),
      }),
      ...tools,
      fhir({ shelf, publicUrl: config.publicUrl, version }),
      ...protocols,
    ],
    engines,
    walls,
    manifests,
    imports,
    build,
    lifecycle,
    log,
    levels,
    consoles,
    lostLines,
    failures,
    auditStore,
    runtimes,
    tokens,
    accounts,
    fleet: sharing,
    measured,
    exposition: new Exposition(() => collector.all()),
    history,
    events,
    state: serviceState,
    texts,
    tracer,
  });
  owned.defer(() => server.close());
  const all = owned.move();
  return {
    server,
    shelf,
    activator,
    engines,
    manifests,
    fleet,
    runtimes,
    tokens,
    startRuntimes: async () => {
      const parts = {
        onAbsent: (engine: string) => activator.engineIsAbsent(engine),
        config,
        registry: runtimes,
        cache: cache ?? state.cache,
        environment,
        log: log.child({ part: 'runtimes' }),
      };
      await startManagedWorkers({ ...parts, version, known, kernel, consoles, shared: fleet.fetches });
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Under which the service reaches itself. */
function ownAddress({ server }: FastifyInstance, scheme: 'http' | 'https'): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
