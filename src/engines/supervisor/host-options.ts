/** What runs a knowledge object in workers is given, and whom it tells. */
import type { Tally } from '../../lib/tally.ts';
import type { Network } from '../network/network.ts';
import type { ProcessEvents } from './process.ts';
import type { Starts } from './starts.ts';
import type { WorkerOptions, WorkerProcess } from './worker.ts';
import type { WorkerLoss } from './worker-losses.ts';
import type { WorkerHome } from './adapter.ts';

export interface HostOptions extends WorkerOptions {
  /** Calls that run at the same time, and that wait. */
  readonly concurrency: number;
  readonly queue: number;
  /** Milliseconds that loading an endpoint may take. */
  readonly loadLimitMs: number;
  readonly starts: Starts;
  /** Its workers come after all others on the cores. */
  readonly isBehindOthers: boolean;
  readonly network?: Pick<Network, 'open'>;
  /** `<naan>/<name>` of those whose code may start programs. */
  readonly processes?: readonly string[];
  /** … and may load native addons. */
  readonly addons?: readonly string[];
  /** Counts the workers that are lost. */
  readonly losses: Tally<WorkerLoss>;
  /** In which workers get folders of their own. */
  readonly scratch: string;
  /** Starts a worker in a scratch folder of its own. */
  readonly start: (home: Omit<WorkerHome, 'scratch'>, events: ProcessEvents) => WorkerProcess;
}

/** Where the log hears of a knowledge object. */
export interface KoLog {
  printed(stream: 'stdout' | 'stderr', line: string): void;
  /** Its process ended unwanted. */
  failed(reason: string): void;
}
