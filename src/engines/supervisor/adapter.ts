/** What makes the own workers of one engine; the table of engines says which there are. */
import type { EndpointPlan } from '../engine.ts';
import type { Network } from '../network/network.ts';
import type { Kernel } from '../../confinement/walls.ts';
import type { Installer } from './hosted-code.ts';
import type { Cache } from './packages/cache.ts';
import type { SharedFetches } from './packages/shared-fetches.ts';
import type { WorkerProgram } from './worker-program.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface KitOptions {
  readonly cache: Cache;
  /** Bytes of a result, and of an input. */
  readonly outputLimit: number;
  readonly bodyLimit: number;
  /** Megabytes that code may use. */
  readonly memoryMb: number;
  /** Milliseconds that an installation may take. */
  readonly installTimeout: number;
  /** Of this process. */
  readonly environment: Environment;
  /** Of which processes get walls. */
  readonly kernel: Kernel;
  /** Hears what the operator should know. */
  readonly onWarning: (text: string) => void;
  /** `<naan>/<name>` of knowledge objects whose dependencies may be built from their sources. */
  readonly sourceBuilds: readonly string[];
  /** What the operator opened of the network. */
  readonly network?: Network | undefined;
  /** What other nodes have fetched; undefined where there are none. */
  readonly shared?: SharedFetches | undefined;
}

export interface OpenKit {
  readonly program: WorkerProgram;
  readonly installer: Installer;
  /** Folders of the cache that must stay. */
  readonly folders: readonly string[];
}

export interface WorkerKit {
  /** Calls of one knowledge object that run at the same time. */
  readonly concurrency: number;
  /** Megabytes of a worker where the operator sets none, or more where inputs and results need them. */
  readonly leastMemoryMb: number;
  /** Why workers cannot run here, and what to do; undefined where they can. */
  absence(environment: Environment): Promise<string | undefined>;
  /** Paths of the files that workers get of an endpoint; its artifacts where it is left out. */
  artifactsOf?(plan: Pick<EndpointPlan, 'artifacts' | 'files'>): readonly string[];
  /** Nothing is opened for an engine that no knowledge object uses. */
  open(options: KitOptions): Promise<OpenKit>;
}

const FOR_WORKERS = /^(LANG|LC_\w+|TZ)$/;
/** They may hold credentials, and others can read the environment of a process: none but installers get them. */
const FOR_INSTALLERS =
  /^(PATH|HOME|TMPDIR|LANG|LC_\w+|XDG_\w+|NPM_\w+|PIP_\w+|(https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|LD_LIBRARY_PATH)$/i;

/** What code sees of the environment. */
export const forWorkers = (environment: Environment): Record<string, string> => only(environment, FOR_WORKERS);

/** What those need of it that install packages. */
export const forInstallers = (environment: Environment): Record<string, string> => only(environment, FOR_INSTALLERS);

function only(environment: Environment, names: RegExp): Record<string, string> {
  const passed = Object.entries(environment).filter(([name, value]) => value !== undefined && names.test(name));
  return Object.fromEntries(passed) as Record<string, string>;
}
