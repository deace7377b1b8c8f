/** How the workers of one engine are started, and what is particular to them. */
import type { HostPort } from '../../lib/host-port.ts';
import type { NetworkAccess } from '../network/access.ts';
import type { Command } from './process.ts';

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

/** What one worker has to itself. */
export interface WorkerHome {
  /** `<naan>/<name>/<version>` */
  readonly ko: string;
  /** Folder of the knowledge object. */
  readonly root: string;
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

export interface WorkerProgram {
  /** Name of the engine. */
  readonly engine: string;
  /** What runs the code, with its version. */
  readonly release?: string;
  command(home: WorkerHome): Command;
  /**
   * By which socket a worker takes what is no call: replies to its questions, and pings. `control` for one whose calls
   * keep those from reading that read further calls.
   */
  readonly repliesBy: 'data' | 'control';
  /**
   * A call keeps a thread also while it waits for another endpoint. Then no more calls of clients begin than may run at
   * once, since those that they wait for must find a thread.
   */
  readonly keepsThreads: boolean;
  /** It refuses inputs that are not JSON by itself, as `unreadable`. */
  readonly checksJson: boolean;
  /** Megabytes that the code may use, … */
  readonly memoryMb: number;
  /** … and what its process needs beside them. */
  readonly besideMemoryMb: number;
  /** Whether what a worker printed last says that it ran out of memory. */
  saysOutOfMemory(printed: Buffer): boolean;
}
