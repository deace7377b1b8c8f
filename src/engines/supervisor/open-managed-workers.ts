/** Opens what runs the own workers of one engine, with their figures. */
import { join } from 'node:path';
import { messageOf } from '../../lib/errors.ts';
import { NO_WALLS } from '../../confinement/walls.ts';
import { HostedCode } from './hosted-code.ts';
import type { Installer } from './hosted-code.ts';
import type { ManagedWorkersOptions } from './managed-workers.ts';
import { CacheLimiter } from './packages/cache-limits.ts';
import { Cache } from './packages/cache.ts';
import type { OpenAdapter } from './adapter.ts';
import { KoPools } from './ko-pools.ts';

export interface OpenWorkers {
  readonly adapter: OpenAdapter;
  readonly pool: KoPools;
  readonly code: HostedCode;
  readonly limiter: CacheLimiter;
}

const MEGABYTE = 2 ** 20;
/** An input or result is there as bytes, as a text, and as what was parsed. */
const TIMES_IN_MEMORY = 4;
const LEAST_RESULT_BYTES = 1024;
const INSTALL_TIMEOUT_MS = 300_000;
const IDLE_TIMEOUT_MS = 300_000;
const IDLE_WORKERS = 16;
const CACHE_LIMITS = { bytes: 2e9, ageMs: 30 * 86_400_000 };

/** For code that depends on nothing. */
const NO_INSTALLER: Installer = {
  variantOf: () => '',
  install: () => Promise.resolve({ folders: [] }),
  explain: (problem) => Promise.resolve(problem),
  kill: () => undefined,
};

export async function openWorkers(options: ManagedWorkersOptions): Promise<OpenWorkers> {
  const {
    engine,
    adapter,
    callTimeout,
    queueLimit,
    log,
    environment,
    sourceBuilds,
    network,
    processes,
    addons,
    consoles,
    kernel = NO_WALLS,
  } = options;
  const cache = await Cache.open(join(options.cache, engine));
  const outputLimit = Math.max(LEAST_RESULT_BYTES, options.maxResult);
  const bodyLimit = Math.max(MEGABYTE, options.maxBody);
  const needed = Math.ceil((TIMES_IN_MEMORY * (outputLimit + bodyLimit)) / MEGABYTE);
  const memoryMb = options.memoryMb ?? Math.max(adapter.leastMemoryMb, needed);
  const open = await adapter.open({
    ...{ cache, outputLimit, bodyLimit, memoryMb, environment, sourceBuilds, network, kernel },
    shared: options.shared,
    installTimeout: INSTALL_TIMEOUT_MS,
    onWarning: (text) => log.warn({ engine }, text),
  });
  const pool = new KoPools({
    ...{ program: open.program, bodyLimit, outputLimit, concurrency: adapter.callsAtOnce, queue: queueLimit },
    ...{ loadLimitMs: callTimeout, idleTimeoutMs: IDLE_TIMEOUT_MS, idleWorkers: IDLE_WORKERS },
    scratch: join(cache.folder, 'staging'),
    kernel,
    ...(network && { network }),
    ...(processes && { processes }),
    ...(addons && { addons }),
    log: {
      printed: (ko, stream, line) => {
        consoles?.add(ko, stream === 'stdout' ? 'info' : 'warn', line);
        log.info({ ko, stream, console: true }, line);
      },
      ended: (ko, reason) => log.warn({ ko, reason }, 'a worker ended'),
    },
  });
  await pool.clear();
  const code = new HostedCode({ cache, pool, installer: open.installer ?? NO_INSTALLER });
  const limiter = new CacheLimiter(cache, CACHE_LIMITS, () => [...(open.folders ?? []), ...code.folders]);
  limiter.start((thrown) => log.warn({ cause: messageOf(thrown) }, 'the cache could not be looked through'));
  return { adapter: open, pool, code, limiter };
}
