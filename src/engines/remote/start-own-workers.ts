/** Gives engines the own workers of the service; the table of engines says which have some. */
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../lib/log.ts';
import type { ConsoleLines } from '../console-lines.ts';
import type { KnownLoads } from '../engine.ts';
import { Network } from '../network/network.ts';
import { workerKit } from '../table.ts';
import type { Kernel } from '../../confinement/walls.ts';
import { OwnWorkers } from '../workers/own-workers.ts';
import { forInstallers } from '../workers/worker-kit.ts';
import type { Environment } from '../workers/worker-kit.ts';
import type { RuntimeRegistry } from './runtime-registry.ts';

export interface StartOwnWorkersOptions {
  readonly config: Pick<Config, 'runtimes' | 'limits' | 'sourceBuilds' | 'network' | 'processes' | 'addons'>;
  readonly registry: RuntimeRegistry;
  readonly kernel: Kernel;
  readonly version: string;
  readonly known: KnownLoads;
  /** Folder of what is fetched and installed. */
  readonly cache: string;
  /** Of this process. */
  readonly environment: Environment;
  /** Hears of the engines whose code cannot run here. */
  readonly onAbsent: (engine: string) => void;
  readonly log: Logger;
  /** Keep what code prints. */
  readonly consoles: ConsoleLines;
}

/** Resolves when it is known which can run; those that cannot leave the reason in their engine. */
export async function startOwnWorkers(options: StartOwnWorkersOptions): Promise<void> {
  const { config, environment, kernel, log } = options;
  const network = new Network({ permissions: config.network, environment, isWalled: () => kernel.seccomp, log });
  await Promise.all(config.runtimes.map((name) => startOf(options, name, network)));
}

async function startOf(options: StartOwnWorkersOptions, name: string, network: Network): Promise<void> {
  const { config, registry, environment, cache, version, known, kernel, log, consoles } = options;
  const engine = registry.engine(name);
  const kit = await workerKit(name);
  if (kit === undefined) return;
  engine.starting = true;
  const absence = await kit.absence(forInstallers(environment));
  engine.starting = false;
  if (absence === undefined) {
    engine.own = new OwnWorkers({
      ...{ engine: name, kit, version, cache, known, environment, kernel, log, consoles },
      ...{ callTimeout: config.limits.runtime, activationTimeout: config.limits.activation },
      ...{ maxResult: config.limits.result, maxBody: config.limits.body, queueLimit: config.limits.queue },
      ...{ sourceBuilds: config.sourceBuilds, network, processes: config.processes },
      addons: config.addons,
    });
    return;
  }
  engine.absence = absence;
  options.onAbsent(name);
  log.warn({ runtime: name }, absence);
}
