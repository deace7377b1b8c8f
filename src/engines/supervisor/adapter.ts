/**
 * An engine whose code runs in processes of its own is a folder with a program and an `Adapter`, which says in data how the
 * supervisor runs that program. `CONTRIBUTING.md` names the steps; the table of engines says which there are.
 */
import type { HostPort } from '../../lib/host-port.ts';
import type { EndpointPlan } from '../engine.ts';
import type { NetworkAccess } from '../network/access.ts';
import type { Network } from '../network/network.ts';
import type { Kernel } from '../../confinement/walls.ts';
import type { Installer } from './hosted-code.ts';
import type { Cache } from './packages/cache.ts';
import type { SharedFetches } from './packages/shared-fetches.ts';
import type { Command } from './process.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Adapter {
  /** Calls of one knowledge object that run at the same time; 1 for a program that answers one after the other. */
  readonly callsAtOnce: number;
  /** Megabytes of a worker where the operator sets none, or more where inputs and results need them. */
  readonly leastMemoryMb: number;
  /** Why workers cannot run here, and what to do; undefined where they can. */
  absence(environment: Environment): Promise<string | undefined>;
  /** Paths of the files that workers get of an endpoint; its artifacts where it is left out. */
  artifactsOf?(plan: Pick<EndpointPlan, 'artifacts' | 'files'>): readonly string[];
  /** Nothing is opened for an engine that no knowledge object uses. */
  open(options: AdapterOptions): Promise<OpenAdapter>;
}

export interface AdapterOptions {
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
  /** Confines processes. */
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

export interface OpenAdapter {
  readonly program: WorkerProgram;
  /** What is prepared before the first call; left out where code depends on nothing. */
  readonly installer?: Installer;
  /** Folders of the cache that must stay. */
  readonly folders?: readonly string[];
}

export interface WorkerProgram {
  /** Name of the engine. */
  readonly engine: string;
  /** What runs the code, with its version. */
  readonly release?: string;
  /** How a worker is started, and what it may do: `command.walls`. */
  command(home: WorkerHome): Command;
  /** Megabytes that the code may use, … */
  readonly memoryMb: number;
  /** … and what its process needs beside them. */
  readonly besideMemoryMb: number;
  /** It refuses inputs that are not JSON by itself, as `unreadable`. */
  readonly checksJson: boolean;
  /** By which socket it takes what is no call, replies and pings; `control` where its calls keep the other from being read. */
  readonly repliesBy?: 'data' | 'control';
  /**
   * A call keeps a thread also while it waits for another endpoint. Then no more calls of clients begin than may run at
   * once, since those that they wait for must find a thread.
   */
  readonly keepsThreads?: boolean;
  /** Whether what a worker printed last says that it ran out of memory. */
  saysOutOfMemory?(printed: Buffer): boolean;
}

/** What one worker has to itself. */
export interface WorkerHome {
  /** `<naan>/<name>/<version>` */
  readonly ko: string;
  /** Folder of the knowledge object. */
  readonly root: string;
  /** All that its code may read. */
  readonly folders: readonly string[];
  /** The only folder in which it may write. It is there, and goes with the worker. */
  readonly scratch: string;
  /** What it may reach, and what tells it how. */
  readonly network: Pick<NetworkAccess, 'ports' | 'environment' | 'files'>;
  /** It may start programs. */
  readonly processes: boolean;
  /** It may load native addons. */
  readonly addons?: boolean;
}

/** The code of one endpoint as it lies in the cache folder. */
export interface EndpointCode {
  readonly uri: string;
  /** Entry module, absolute. */
  readonly file: string;
  /** Folder of the knowledge object, absolute. */
  readonly root: string;
  readonly function: string;
  /** Folders that the code may read: of the knowledge object, and of its packages. */
  readonly folders: readonly string[];
  /** What its deployment asks for. */
  readonly network?: readonly HostPort[] | undefined;
  /** What else the engine tells its workers of it. */
  readonly more?: Readonly<Record<string, unknown>>;
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
