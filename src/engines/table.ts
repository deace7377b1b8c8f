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
import type { Adapter } from './supervisor/adapter.ts';

/** What an engine may be made of. */
export interface EngineParts {
  readonly config: Pick<Config, 'limits' | 'sandboxes' | 'isolation' | 'properties'>;
  readonly known: KnownLoads;
  /** What keeps processes that run code of others. */
  readonly kernel: Kernel;
  /** With those of the rows above, such as the sandbox that runs programs of others. */
  readonly engines: EngineRegistry;
  /** Keep what code prints. */
  readonly consoles: ConsoleLines;
  /** The log of this engine. */
  readonly log: Logger;
}

interface EngineFacts {
  /** The name in deployment descriptors, in lower case. */
  readonly name: string;
  /** Other names for it, in lower case: those of the second generation of knowledge objects. */
  readonly aliases: readonly string[];
  /** "The method must be POST for objects that run code and return a result; it must be GET for a resource object." */
  readonly method: Engine['method'];
}

/** Part of the service itself. */
export interface BuiltInRow extends EngineFacts {
  readonly builtIn: true;
  make(parts: EngineParts): Promise<Engine>;
}

/** Its endpoints run in managed workers of the service, and in external runtimes. */
export interface RuntimeRow extends EngineFacts {
  readonly builtIn: false;
  readonly method: 'post';
  workers(): Promise<Adapter>;
}

const BUILT_IN: readonly BuiltInRow[] = [
  {
    name: 'javascript',
    aliases: ['org.kgrid.javascript-activator'],
    method: 'post',
    builtIn: true,
    make: async ({ config, known, kernel, log, consoles }) => {
      const { JavascriptEngine } = await import('./javascript/engine.ts');
      return new JavascriptEngine({
        executionTimeout: config.limits.execution,
        isolateMemoryMb: Math.floor(config.limits.isolateMemory / 2 ** 20),
        maxResult: config.limits.result,
        queueLimit: config.limits.queue,
        sandboxes: config.sandboxes,
        isolation: config.isolation,
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
    builtIn: true,
    make: async () => new (await import('./resource/engine.ts')).ResourceEngine(),
  },
];

const RUNTIMES: readonly RuntimeRow[] = [
  {
    name: 'node',
    aliases: [],
    method: 'post',
    builtIn: false,
    workers: async () => (await import('./node/adapter.ts')).nodeAdapter,
  },
  {
    name: 'python',
    aliases: ['org.kgrid.python-activator'],
    method: 'post',
    builtIn: false,
    workers: async () => (await import('./python/adapter.ts')).pythonAdapter,
  },
];

export type EngineRow = BuiltInRow | RuntimeRow;

export const ENGINES: readonly EngineRow[] = [...BUILT_IN, ...RUNTIMES];

/** Names of the runtimes that come with the service. */
export const RUNTIME_NAMES: readonly string[] = RUNTIMES.map(({ name }) => name);

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

/** Makes the engines of the table, those with runtimes by `makeRuntime`. */
export async function makeEngines(parts: EngineParts, makeRuntime: (name: string) => unknown): Promise<void> {
  for (const row of BUILT_IN) parts.engines.add(await row.make({ ...parts, log: parts.log.child({ part: row.name }) }));
  for (const { name } of RUNTIMES) makeRuntime(name);
}

/** Gives the adapter of an engine with managed workers; undefined for others. */
export async function workerAdapter(name: string): Promise<Adapter | undefined> {
  return RUNTIMES.find((row) => row.name === name)?.workers();
}
