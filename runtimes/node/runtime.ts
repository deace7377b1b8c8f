/** Puts the runtime together from its settings. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Activations } from './activation/activations.ts';
import { Artifacts } from './activation/artifacts.ts';
import { CacheLimiter } from './activation/cache-limits.ts';
import { Cache } from './activation/cache.ts';
import { Endpoints } from './activation/endpoints.ts';
import { ActivatorClient } from './activator/client.ts';
import { Registration } from './activator/registration.ts';
import { Installs } from './dependencies/installs.ts';
import { Npm } from './dependencies/npm.ts';
import { controlRoutes, deactivate } from './http/control-routes.ts';
import { createExecute } from './http/execute.ts';
import { createRuntimeServer, type Handler } from './http/server.ts';
import { messageOf } from './lib/errors.ts';
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
    deactivate: deactivate({ activations, endpoints, log }),
    execute: createExecute(endpoints, settings),
    secret: settings.secret,
    log,
  });
  server.listen(settings.port, settings.host);
  await once(server, 'listening');
  listening.url = addressOf(server.address() as AddressInfo);

  const identity = { app: 'KGrid Node Runtime', version: ownVersion(), engine: 'node', url: url() } as const;
  const registration = new Registration(activator, identity, settings.heartbeatMs, log);
  Object.assign(routes, controlRoutes({ activations, endpoints, hosts, identity, installs, log, registration }));
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
      await drain(server);
      kill();
    },
  };
}

/** Lets open requests end, for a while. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const idle = setInterval(() => server.closeIdleConnections(), 100);
  const late = new Promise((resolve) => setTimeout(resolve, stopMs).unref());
  await Promise.race([closed, late]);
  clearInterval(idle);
}

/** Beside the result, the activator's answer holds the metadata of the KO and the input as a text. */
const nestedAnswerLimit = ({ outputLimit, bodyLimit }: Settings): number => outputLimit + 2 * bodyLimit + 2_000_000;

function addressOf({ address, family, port }: AddressInfo): string {
  const open = address === '0.0.0.0' || address === '::';
  const host = open ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}

function ownVersion(): string {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
