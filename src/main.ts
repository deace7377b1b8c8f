/** Starts the service: settings, shelf, listening, activation; and stops it. */
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { EndpointSet } from './activation/endpoint-set.ts';
import { outcomeOf } from './activation/selection.ts';
import { type App, createApp } from './app.ts';
import { type Build, fullVersion, readBuild } from './build.ts';
import { type Config, toConfig } from './config/config.ts';
import { helpText, readSettings } from './config/read-settings.ts';
import { exampleShelf } from './example-shelf.ts';
import { auditedActivation } from './http/access/audit.ts';
import { type KoId, koKey } from './knowledge-object/id.ts';
import { messageOf, ServiceError, startRefused, toError } from './lib/errors.ts';
import { isLoopback } from './lib/host-port.ts';
import { createLog, escapeSteering, type Logger } from './lib/log.ts';
import { Output } from './lib/output.ts';
import { SpareHeap } from './lib/spare-heap.ts';
import { withoutCredentials } from './lib/without-credentials.ts';
import { Lifecycle, type StartManifests, whyFailed } from './lifecycle.ts';
import { reportActivation } from './report-activation.ts';
import type { Audit } from './shelf/audit/audit.ts';
import type { ManifestOutcome } from './shelf/manifest/create-manifest-importer.ts';
import { Shutdown } from './shutdown.ts';

// "Each activation made by a start has an audit record": one for all of them, bounded as that of a reload of all.

/** Nothing of a shelf on which nothing is to be activated. */
function auditStart(audit: Pick<Audit, 'write'>, { endpoints, failures }: EndpointSet): void {
  if (endpoints.length + failures.length === 0) return;
  const about = auditedActivation(outcomeOf(endpoints, [], failures), false);
  audit.write({
    who: 'kgrid-activator',
    login: 'start',
    action: 'start',
    subject: 'all',
    ...about,
    requestId: '',
    remoteAddress: '',
  });
}

async function main(output: Output, errors: Output): Promise<void> {
  const given = readSettings(process.argv.slice(2), process.env);
  const build = readBuild(process.env['KGRID_BUILD_COMMIT']);
  if ('print' in given) {
    process.stdout.write(given.print === 'help' ? helpText() : `${programOf(build)}\n`);
    return;
  }
  const config = toConfig(given.settings);
  const log = createLog({ level: config.logLevel, format: config.logFormat }, output);
  log.info({ event: 'starting', ...build, node: process.version }, `${programOf(build)} starts`);
  process.on('uncaughtException', (thrown) => {
    log.fatal({ err: thrown }, 'The service ends: an error that nothing expected');
    fail(thrown, errors);
  });
  // Node would open its debugger, to which any process of this user can send code.
  process.on('SIGUSR1', () => undefined);
  for (const warning of config.retired) log.warn({ event: 'setting-retired' }, warning);
  const shelf = await shelfLocation(config, log);
  const lifecycle = new Lifecycle();
  const app = await createApp({
    config,
    shelf,
    build,
    lifecycle,
    environment: process.env,
    log,
    lostLines: () => output.lost,
  });
  new Shutdown(config, lifecycle, log, process.env['npm_lifecycle_event'] !== undefined).watch(app);
  lifecycle.manifests.begin(config.manifests);
  const url = await listen(app, config);
  log.info({ event: 'listening', url }, `Listening at ${url} (profile ${config.profile})`);
  if (config.logInputs)
    log.warn('--log-inputs: the log has the inputs of calls, which may be data of patients; keep it as such');
  if (config.logMessages)
    log.warn('--log-messages: the log has what errors of code say, which may quote data of patients; keep it as such');
  warnOfOpenAccess(config, log);
  await app.startRuntimes();
  await start(app, url, config, lifecycle.manifests, log);
  const heap = new SpareHeap();
  heap.giveBackAfterStart();
  heap.watch();
  lifecycle.started = true;
  reportActivation(app, log, url, config.network);
}

const programOf = (build: Build): string => `KGrid Activator ${fullVersion(build)} (Node ${process.version})`;

async function shelfLocation(config: Config, log: Logger): Promise<string> {
  if (config.shelf !== undefined) return config.shelf;
  const { folder, outdated } = await exampleShelf();
  log.info({ folder }, 'No --shelf is configured: serving a working copy of the examples');
  if (outdated)
    log.warn({ folder }, 'The examples have changed since this copy was made: delete the folder to get a new one');
  return folder;
}

async function listen(app: App, config: Config): Promise<string> {
  try {
    await app.server.listen({ host: config.host, port: config.port });
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === 'EADDRINUSE')
      throw startRefused(`Port ${config.port} on ${config.host} is in use: choose another with --port`);
    throw startRefused(`Cannot listen on --host ${config.host} --port ${config.port}: ${messageOf(thrown)}`);
  }
  const { port } = app.server.server.address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `${config.tls === undefined ? 'http' : 'https'}://${host === '0.0.0.0' ? '127.0.0.1' : host === '[::]' ? '[::1]' : host}:${port}`;
}

function warnOfOpenAccess(config: Config, log: Logger): void {
  if (config.trustProxy?.isFlag === true) {
    log.warn(
      '--trust-proxy without a value means one proxy: say how many stand in front, or better their addresses or networks',
    );
  }
  if (config.anonymous === 'operator' && !isLoopback(config.host)) {
    log.warn(
      `The dev profile is open to everybody who reaches ${config.host}: use --profile secure outside of development`,
    );
  }
  if (config.profile === 'secure' && config.basic === undefined && config.oauth === undefined) {
    log.warn(
      'No login is configured, so nobody can import or activate: set KGRID_USER and KGRID_PASSWORD, or --oauth-issuer and --oauth-audience',
    );
  }
}

/** Activates what is on the shelf, and meanwhile imports the manifests. */
async function start(app: App, url: string, config: Config, manifests: StartManifests, log: Logger): Promise<void> {
  const { fleet } = app;
  await app.shelf.ready();
  const at = { name: `${hostname()}:${new URL(url).port}`, address: url };
  const activates = await fleet.join(app.activator, app.runtimes, at);
  const key = config.callKey === undefined ? await fleet.callKey() : undefined;
  if (key !== undefined) app.tokens.share(key);
  const { decided } = await app.activator.start();
  const { set } = app.activator;
  // A node that joins others activates what was active before.
  if (activates) void decided.then(() => auditStart(app.server.audit, set));
  await fleet.begin();
  const imports = async (): Promise<void> => {
    const imported = await importStartManifests(app, config, manifests, log);
    await decided;
    await fleet.retryTransient(async () => {
      const changed = await fleet.notActive(imported);
      if (changed.length > 0) await app.activator.reloadImported(changed);
    });
  };
  // Of several activators one at a time, so that the others find all of it there.
  await (config.manifests.length === 0 ? imports() : fleet.alone('start-manifests', imports));
  manifests.end();
}

function fail(thrown: unknown, errors: Output): never {
  const words =
    thrown instanceof ServiceError ? thrown.message : String(thrown instanceof Error ? thrown.stack : thrown);
  const level = 'fatal';
  const line = { level, time: new Date().toISOString(), event: 'ended-by-error', ...codeOf(thrown), msg: words };
  errors.write(`${wantsJson() ? escapeSteering(JSON.stringify(line)) : words}\n`);
  process.exit(1);
}

const codeOf = (thrown: unknown): { readonly code?: string } =>
  thrown instanceof ServiceError ? { code: thrown.code } : {};

/** Whether lines of JSON were asked for: also where the settings could not be read. */
function wantsJson(): boolean {
  const given = process.argv.slice(2).join(' ');
  const [, option] = /(?:^| )--log-format[ =](\S+)/.exec(given) ?? [];
  return (option ?? process.env['KGRID_LOG_FORMAT']) === 'json';
}

// Imports the manifests that the operator named, while the service answers already.

const IMPORTED_AGAIN_AFTER_MS = 1000;
const UNTIL_THE_DATABASE_IS_BACK: ReadonlySet<string> = new Set(['shelf-unavailable', 'outcome-unknown']);

/** @throws startRefused where they are required and one fails, or a part of it. */
async function importStartManifests(
  app: App,
  { manifests: named, manifestRequired }: Pick<Config, 'manifests' | 'manifestRequired'>,
  manifests: StartManifests,
  log: Logger,
): Promise<KoId[]> {
  const imported = (await Promise.all(named.map((each) => importOne(app, each, manifests, log)))).flat();
  const [failed] = manifests.failed;
  if (manifestRequired && failed !== undefined) throw startRefused(`--manifest-required: ${whyFailed(failed)}`);
  for (const each of manifests.failed) log.error({ manifest: each.manifest, imported: each.imported }, whyFailed(each));
  return imported;
}

async function importOne(app: App, named: string, manifests: StartManifests, log: Logger): Promise<KoId[]> {
  const manifest = withoutCredentials(named);
  const outcomes = await outcomesOf(app, named, log);
  const imported = outcomes.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const failures = outcomes.flatMap(({ location, error }) =>
    error === undefined ? [] : [{ location: withoutCredentials(location), cause: error.message }],
  );
  for (const { id, digests } of outcomes) {
    if (id !== undefined && digests !== undefined) log.warn({ ko: koKey(id), digests }, 'Replaced');
  }
  for (const failure of failures) {
    if (failure.location !== manifest) log.warn(failure, 'manifest entry was not imported');
  }
  if (imported.length > 0) log.info({ manifest, imported: imported.length, of: outcomes.length }, 'manifest imported');
  manifests.add({ manifest, imported: imported.length, failures });
  return imported;
}

/** What was imported already is not imported twice: where the database of the shelf is away, all is asked for again. */
async function outcomesOf(app: App, named: string, log: Logger): Promise<readonly ManifestOutcome[]> {
  for (;;) {
    const outcomes = await app.manifests
      .importNamed(named)
      .catch((thrown: unknown): ManifestOutcome[] => [{ location: withoutCredentials(named), error: toError(thrown) }]);
    const lost = outcomes.find(
      ({ error }) => error instanceof ServiceError && UNTIL_THE_DATABASE_IS_BACK.has(error.code),
    );
    if (lost === undefined) return outcomes;
    log.warn(
      { manifest: withoutCredentials(named), cause: lost.error?.message },
      'the manifest is imported again: the database of the shelf is away',
    );
    await wait(IMPORTED_AGAIN_AFTER_MS);
  }
}

// Last, since what stands below is not set up while it runs.
const [output, errors] = [new Output(1), new Output(2)];
process.on('exit', () => {
  output.flush();
  errors.flush();
});
try {
  await main(output, errors);
} catch (thrown) {
  fail(thrown, errors);
}
