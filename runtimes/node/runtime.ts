/** Puts the runtime together from its settings. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Activations } from './activation/activations.ts';
import { HostedCode } from '../../src/engines/workers/hosted-code.ts';
import { NodeInstaller } from '../../src/engines/workers/node/node-installer.ts';
import { nodeWorkers } from '../../src/engines/workers/node/node-program.ts';
import { prepareProgram } from '../../src/engines/workers/node/program-files.ts';
import { CacheLimiter } from '../../src/engines/workers/packages/cache-limits.ts';
import { Cache } from '../../src/engines/workers/packages/cache.ts';
import { WorkerPool } from '../../src/engines/workers/worker-pool.ts';
import { Endpoints } from './activation/endpoints.ts';
import { ActivatorScope } from './activator/activator-scope.ts';
import { ActivatorClient, fetchArtifact } from './activator/client.ts';
import { Registration } from './activator/registration.ts';
import { controlRoutes, deactivate } from './http/control-routes.ts';
import { createExecute } from './http/execute.ts';
import { createRuntimeServer, type Handler } from './http/server.ts';
import { messageOf } from './lib/errors.ts';
import type { Log } from './lib/log.ts';
import type { Settings } from './settings.ts';

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
  const files = await prepareProgram(settings.cacheDir);
  const activator = new ActivatorClient(settings.activatorUrl, settings.authorization, settings.secret);
  const installer = new NodeInstaller(cache, settings, join(settings.cacheDir, 'npm'));
  const pool = new WorkerPool({
    ...settings,
    loadLimitMs: settings.executionTimeoutMs,
    program: nodeWorkers({
      ...{ files, memoryMb: settings.memoryLimitMb, outputLimit: settings.outputLimit },
      ...{ permissions: settings.permissions, environment: settings.workerEnvironment },
      addons: settings.allowAddons ? 'all' : 'none',
    }),
    scratch: join(settings.cacheDir, 'staging'),
    log: {
      printed: (ko, stream, line) => log.ko(ko, stream, line),
      ended: (ko, reason) => log.warn('process ended', { object: ko, reason }),
    },
  });
  await pool.clear();
  const code = new HostedCode({ cache, pool, installer, loadFromCache: settings.loadFromCache });

  const routes: Record<string, Handler> = {};
  const listening = { url: '' };
  const url = (): string => settings.publicUrl ?? listening.url;
  const endpoints = new Endpoints({
    code,
    fetch: (baseUrl, path) => fetchArtifact(activator, baseUrl, path),
    url,
  });
  const inUse = (): string[] => [files.folder, ...code.folders];
  const limiter = new CacheLimiter(cache, { bytes: settings.cacheBytes, ageMs: settings.cacheAgeMs }, inUse);
  const activations = new Activations(
    (descriptor, progress) => endpoints.activate(descriptor, progress),
    settings.activationWaitMs,
  );
  const server = createRuntimeServer({
    routes,
    endpoints,
    deactivate: deactivate({ activations, endpoints, log }),
    execute: createExecute(endpoints, {
      ...settings,
      scopeOf: (origin) => new ActivatorScope(activator, nestedAnswerLimit(settings), origin),
    }),
    secret: settings.secret,
    log,
  });
  server.listen(settings.port, settings.host);
  await once(server, 'listening');
  listening.url = addressOf(server.address() as AddressInfo);

  const identity = { app: 'KGrid Node Runtime', version: ownVersion(), engine: 'node', url: url() } as const;
  const registration = new Registration(activator, identity, settings.heartbeatMs, log);
  const { installs } = installer;
  Object.assign(routes, controlRoutes({ activations, endpoints, pool, identity, installs, log, registration }));
  registration.start();
  limiter.start((error) => log.warn('the cache could not be looked through', { reason: messageOf(error) }));

  const kill = (): void => {
    registration.stop();
    limiter.stop();
    pool.kill();
    installer.kill();
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
