/**
 * Every engine that comes with the service. To add one is to add a row; CONTRIBUTING.md names the steps. What makes an
 * engine is loaded when it is made, so that whoever only asks for names pays for no more.
 */
import type { Config } from '../config/config.ts';
import type { Deployment } from '../knowledge-object/descriptors/deployment.ts';
import type { Logger } from '../lib/log.ts';
import type { ConsoleLines } from './console-lines.ts';
import type { Engine, KnownLoads } from './engine.ts';
import type { EngineRegistry } from './engine-registry.ts';
import type { Kernel } from '../confinement/walls.ts';
import type { WorkerKit } from './workers/worker-kit.ts';

/** What an engine may be made of. */
export interface EngineParts {
  readonly config: Pick<Config, 'limits' | 'sandboxes' | 'properties'>;
  readonly known: KnownLoads;
  /** What keeps processes that run code of others. */
  readonly kernel: Kernel;
  /** With those of the rows above, such as the sandbox that runs programs of others. */
  readonly engines: EngineRegistry;
  /** Keep what code prints. */
  readonly consoles: ConsoleLines;
  /** Of this engine. */
  readonly log: Logger;
}

interface EngineFacts {
  /** As deployment descriptors say it, in lower case. */
  readonly name: string;
  /** Other names for it, in lower case: those of the second generation of knowledge objects. */
  readonly aliases: readonly string[];
  /** "The method must be POST for objects that run code and return a result; it must be GET for a resource object." */
  readonly method: Engine['method'];
}

/** Part of the service itself. */
export interface LocalRow extends EngineFacts {
  readonly local: true;
  make(parts: EngineParts): Promise<Engine>;
}

/** Its endpoints run in own workers of the service, and in runtimes that register. */
export interface RemoteRow extends EngineFacts {
  readonly local: false;
  readonly method: 'post';
  workers(): Promise<WorkerKit>;
}

const LOCAL: readonly LocalRow[] = [
  {
    name: 'javascript',
    aliases: ['org.kgrid.javascript-activator'],
    method: 'post',
    local: true,
    make: async ({ config, known, kernel, log, consoles }) => {
      const { JavascriptEngine } = await import('./javascript/engine.ts');
      return new JavascriptEngine({
        executionTimeout: config.limits.execution,
        isolateMemoryMb: Math.floor(config.limits.isolateMemory / 2 ** 20),
        maxResult: config.limits.result,
        queueLimit: config.limits.queue,
        sandboxes: config.sandboxes,
        known,
        kernel,
        properties: config.properties,
        log,
        consoles,
      });
    },
  },
  {
    name: 'resource',
    aliases: [],
    method: 'get',
    local: true,
    make: async () => new (await import('./resource/engine.ts')).ResourceEngine(),
  },
];

const REMOTE: readonly RemoteRow[] = [
  {
    name: 'node',
    aliases: [],
    method: 'post',
    local: false,
    workers: async () => (await import('./workers/node/node-kit.ts')).nodeKit,
  },
  {
    name: 'python',
    aliases: ['org.kgrid.python-activator'],
    method: 'post',
    local: false,
    workers: async () => (await import('./workers/python/python-kit.ts')).pythonKit,
  },
];

export type EngineRow = LocalRow | RemoteRow;

export const ENGINES: readonly EngineRow[] = [...LOCAL, ...REMOTE];

/** Names of the runtimes that come with the service. */
export const RUNTIME_NAMES: readonly string[] = REMOTE.map(({ name }) => name);

const NAMES: ReadonlyMap<string, string> = new Map(
  ENGINES.flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name] as const)),
);

/** The name of an engine, however it is written: "compared without case", and by its other names. */
export function engineName(written: string): string {
  const name = written.toLowerCase();
  return NAMES.get(name) ?? name;
}

/** The descriptor with the engines under their names. */
export function withEngineNames(deployment: Deployment): Deployment {
  const entries = [...deployment.endpoints];
  if (!entries.some(([, each]) => each.some(({ engine }) => NAMES.has(engine)))) return deployment;
  return {
    ...deployment,
    endpoints: new Map(
      entries.map(([path, each]) => [path, each.map((entry) => ({ ...entry, engine: engineName(entry.engine) }))]),
    ),
  };
}

/** Makes the engines of the table, those in runtimes by `makeRemote`. */
export async function makeEngines(parts: EngineParts, makeRemote: (name: string) => unknown): Promise<void> {
  for (const row of LOCAL) parts.engines.add(await row.make({ ...parts, log: parts.log.child({ part: row.name }) }));
  for (const { name } of REMOTE) makeRemote(name);
}

/** What makes the own workers of an engine; undefined where it has none. */
export async function workerKit(name: string): Promise<WorkerKit | undefined> {
  return REMOTE.find((row) => row.name === name)?.workers();
}
