/** Puts the runtime together from its settings. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Activations } from './activation/activations.ts';
import { HostedCode } from '../../src/engines/supervisor/hosted-code.ts';
import { CacheLimiter } from '../../src/engines/supervisor/packages/cache-limits.ts';
import { Cache } from '../../src/engines/supervisor/packages/cache.ts';
import { KoPools } from '../../src/engines/supervisor/ko-pools.ts';
import { Endpoints } from './activation/endpoints.ts';
import { ActivatorScope } from './activator/activator-scope.ts';
import { ActivatorClient, fetchArtifact } from './activator/client.ts';
import { Registration } from './activator/registration.ts';
import { controlRoutes, deactivate } from './http/control-routes.ts';
import { createExecute } from './http/execute.ts';
import { createRuntimeServer, type Handler } from './http/server.ts';
import { messageOf } from '../../src/lib/errors.ts';
import type { Log } from './lib/log.ts';
import { RUNTIME_ENGINES } from './engines.ts';
import type { Settings } from './settings.ts';

export interface Runtime {
  /** The listening address. */
  readonly url: string;
  /** Lets open calls end for a while, then ends every process it started. */
  stop(): Promise<void>;
  /** Ends every process it started, at once. */
  kill(): void;
}

/** Service managers wait at least this long before they kill. */
const STOP_MS = 10_000;

export async function startRuntime(settings: Settings, log: Log): Promise<Runtime> {
  const engine = RUNTIME_ENGINES[settings.engine];
  const cache = await Cache.open(settings.cacheDir);
  const open = await engine.open(settings, cache, (text) => log.warn('installing', { text }));
  const { program, installer } = open;
  const activator = new ActivatorClient(settings.activatorUrl, settings.authorization, settings.secret);
  const pool = new KoPools({
    ...settings,
    loadLimitMs: settings.executionTimeoutMs,
    program,
    scratch: join(settings.cacheDir, 'staging'),
    log: {
      printed: (ko, stream, line) => log.ko(ko, stream, line),
      ended: (ko, reason) => log.warn('process ended', { object: ko, reason }),
    },
  });
  await pool.clear();
  const code = new HostedCode({ cache, pool, installer, loadFromCache: settings.cacheStrategy === 'always' });

  const routes: Record<string, Handler> = {};
  const listening = { url: '' };
  const url = (): string => settings.publicUrl ?? listening.url;
  const endpoints = new Endpoints({
    engine: settings.engine,
    code,
    fetch: (baseUrl, path, isOptional) => fetchArtifact(activator, baseUrl, path, isOptional),
    url,
    besideArtifacts: engine.besideArtifacts,
    trustsChecksums: settings.cacheStrategy !== 'never',
  });
  const inUse = (): string[] => [...open.folders, ...code.folders];
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
      thrownStatus: engine.thrownStatus,
      scopeOf: (origin) => new ActivatorScope(activator, nestedAnswerLimit(settings), origin),
    }),
    secret: settings.secret,
    log,
  });
  server.listen(settings.port, settings.host);
  await once(server, 'listening');
  listening.url = addressOf(server.address() as AddressInfo);

  const identity = { app: engine.app, version: ownVersion(), engine: settings.engine, url: url() };
  const registration = new Registration(activator, identity, settings.heartbeatMs, log);
  const { fetchDependencies } = open;
  Object.assign(
    routes,
    controlRoutes({ activations, endpoints, pool, identity, fetchDependencies, log, registration }),
  );
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
  const late = new Promise((resolve) => setTimeout(resolve, STOP_MS).unref());
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
