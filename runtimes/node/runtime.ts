/** Puts the runtime together from its settings. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Activations } from './activation/activations.ts';
import { Artifacts } from './activation/artifacts.ts';
import { CacheLimiter } from './activation/cache-limits.ts';
import { Cache } from './activation/cache.ts';
import { parseDescriptor } from './activation/descriptor.ts';
import { Endpoints } from './activation/endpoints.ts';
import { ActivatorClient } from './activator/client.ts';
import { Registration } from './activator/registration.ts';
import { Installs } from './dependencies/installs.ts';
import { Npm } from './dependencies/npm.ts';
import { readJson } from './http/body.ts';
import { createExecute } from './http/execute.ts';
import { createRuntimeServer, describeEndpoint, type Handler } from './http/server.ts';
import { isInProcessing, messageOf, refused } from './lib/errors.ts';
import type { Log } from './lib/log.ts';
import type { Settings } from './settings.ts';
import { Hosts } from './workers/hosts.ts';
import { NestedCalls } from './workers/nested-calls.ts';
import { prepareWorkerProgram } from './workers/program.ts';

export interface Runtime {
  /** The listening address. */
  readonly url: string;
  /** Lets open calls end for a while, then ends every process it started. */
  stop(): Promise<void>;
  /** Ends every process it started, at once. */
  kill(): void;
}

const maxControlBodyBytes = 5_000_000;
const stopMs = 10_000;

export async function startRuntime(settings: Settings, log: Log): Promise<Runtime> {
  const cache = await Cache.open(settings.cacheDir);
  const program = await prepareWorkerProgram(settings.cacheDir);
  const activator = new ActivatorClient(settings.activatorUrl, settings.authorization, settings.secret);
  const npm = new Npm(settings, join(settings.cacheDir, 'npm'), (folder) => cache.use(folder));
  const installs = new Installs(cache, npm, settings.allowInstallScripts);
  const hosts = new Hosts({ ...settings, program }, new NestedCalls(activator, nestedAnswerLimit(settings)), log);

  const routes: Record<string, Handler> = {};
  const listening = { url: '' };
  const url = (): string => settings.publicUrl ?? listening.url;
  const endpoints = new Endpoints({
    cache,
    artifacts: new Artifacts(cache, activator, settings.loadFromCache),
    installs,
    hosts,
    loadLimitMs: settings.executionTimeoutMs,
    url,
  });
  const inUse = (): string[] => [program.folder, ...endpoints.folders];
  const limiter = new CacheLimiter(cache, { bytes: settings.cacheBytes, ageMs: settings.cacheAgeMs }, inUse);
  const activations = new Activations(
    (descriptor, progress) => endpoints.activate(descriptor, progress),
    settings.activationWaitMs,
  );
  const server = createRuntimeServer({
    routes,
    endpoints,
    deactivate: (uri) => {
      activations.forget(uri);
      const wasActive = endpoints.deactivate(uri);
      if (wasActive) log.info('deactivated', { uri });
      return { id: uri, uri, status: wasActive ? 'Deactivated' : 'Not active' };
    },
    execute: createExecute(endpoints, settings),
    secret: settings.secret,
    log,
  });
  server.listen(settings.port, settings.host);
  await once(server, 'listening');
  listening.url = addressOf(server.address() as AddressInfo);

  const identity = { app: 'KGrid Node Runtime', version: ownVersion(), engine: 'node', url: url() } as const;
  const registration = new Registration(activator, identity, settings.heartbeatMs, log);
  Object.assign(routes, {
    'GET /info': () => ({ ...identity, status: 'up', endpoints: endpoints.all.length, workers: hosts.workerCount }),
    'GET /endpoints': () => endpoints.all.map(describeEndpoint),
    'GET /register': () => registration.register(true),
    'POST /endpoints': async (request) => {
      const descriptor = parseDescriptor(await readJson(request, maxControlBodyBytes));
      const { uri } = descriptor;
      try {
        const answer = await activations.activate(descriptor);
        log.info('activated', { uri });
        return answer;
      } catch (error) {
        log[isInProcessing(error) ? 'debug' : 'warn']('not activated', { uri, reason: messageOf(error) });
        throw error;
      }
    },
    'POST /dependencies': async (request) => {
      const dependencies = parseDependencies(await readJson(request, maxControlBodyBytes));
      await installs.fetch(dependencies);
      return { status: 'Dependencies are in the cache of the installer', dependencies };
    },
  } satisfies Record<string, Handler>);
  registration.start();
  limiter.start((error) => log.warn('the cache could not be looked through', { reason: messageOf(error) }));

  const kill = (): void => {
    registration.stop();
    limiter.stop();
    hosts.kill();
    npm.kill();
    activator.close();
    server.closeAllConnections();
  };
  return {
    url: listening.url,
    kill,
    stop: async () => {
      registration.stop();
      const closed = new Promise((resolve) => server.close(resolve));
      const idle = setInterval(() => server.closeIdleConnections(), 100);
      const late = new Promise((resolve) => setTimeout(resolve, stopMs).unref());
      await Promise.race([closed, late]);
      clearInterval(idle);
      kill();
    },
  };
}

/** Beside the result, the activator's answer holds the metadata of the KO and the input as a text. */
const nestedAnswerLimit = ({ outputLimit, bodyLimit }: Settings): number => outputLimit + 2 * bodyLimit + 2_000_000;

/** `{"name": "range", …}`, also below the key `dependencies`. @throws RuntimeError 400. */
function parseDependencies(body: unknown): Record<string, string> {
  const outer = body as { readonly dependencies?: unknown } | null;
  const wanted: unknown = outer?.dependencies ?? outer;
  const fits =
    typeof wanted === 'object' && wanted !== null && Object.values(wanted).every((range) => typeof range === 'string');
  if (!fits || Array.isArray(wanted)) throw refused('The body must be {"<package>": "<version range>", …}');
  return wanted as Record<string, string>;
}

function addressOf({ address, family, port }: AddressInfo): string {
  const open = address === '0.0.0.0' || address === '::';
  const host = open ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}

function ownVersion(): string {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
