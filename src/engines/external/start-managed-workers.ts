/** Gives engines their managed workers, by the table of engines. */
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../lib/log.ts';
import type { ConsoleLines } from '../console-lines.ts';
import type { KnownLoads } from '../engine.ts';
import { Network } from '../network/network.ts';
import { workerAdapter } from '../table.ts';
import type { Kernel } from '../../confinement/walls.ts';
import { ManagedWorkers } from '../supervisor/managed-workers.ts';
import type { SharedFetches } from '../supervisor/packages/shared-fetches.ts';
import { forInstallers } from '../supervisor/adapter.ts';
import type { Environment } from '../supervisor/adapter.ts';
import type { RuntimeRegistry } from './runtime-registry.ts';

export interface StartManagedWorkersOptions {
  readonly config: Pick<
    Config,
    'runtimes' | 'limits' | 'sourceBuilds' | 'network' | 'processes' | 'addons' | 'workerMemory'
  >;
  readonly registry: RuntimeRegistry;
  readonly kernel: Kernel;
  readonly version: string;
  readonly known: KnownLoads;
  /** Folder for fetched and installed packages. */
  readonly cache: string;
  /** The environment of this process. */
  readonly environment: Environment;
  /** Is told the engines whose code cannot run here. */
  readonly onAbsent: (engine: string) => void;
  readonly log: Logger;
  /** Keeps what code prints. */
  readonly consoles: ConsoleLines;
  /** What other nodes have fetched; undefined where there are none. */
  readonly shared?: SharedFetches | undefined;
}

/** Resolves once it is known which engines can run here; the others hold the reason. */
export async function startManagedWorkers(options: StartManagedWorkersOptions): Promise<void> {
  const { config, environment, kernel, log } = options;
  const network = new Network({ permissions: config.network, environment, isWalled: () => kernel.seccomp, log });
  await Promise.all(config.runtimes.map((name) => startOf(options, name, network)));
}

async function startOf(options: StartManagedWorkersOptions, name: string, network: Network): Promise<void> {
  const { config, registry, environment, cache, version, known, kernel, log, consoles } = options;
  const engine = registry.engine(name);
  const adapter = await workerAdapter(name);
  if (adapter === undefined) return;
  engine.starting = true;
  const absence = await adapter.absence(forInstallers(environment));
  engine.starting = false;
  if (absence === undefined) {
    engine.managed = new ManagedWorkers({
      ...{ engine: name, adapter, version, cache, known, environment, kernel, log, consoles },
      ...{ callTimeout: config.limits.runtime, activationTimeout: config.limits.activation },
      ...{ maxResult: config.limits.result, maxBody: config.limits.body, queueLimit: config.limits.queue },
      ...{ sourceBuilds: config.sourceBuilds, network, processes: config.processes },
      shared: options.shared,
      ...{ addons: config.addons, memoryMb: config.workerMemory[name] },
    });
    return;
  }
  engine.absence = absence;
  options.onAbsent(name);
  log.warn({ runtime: name }, absence);
}
