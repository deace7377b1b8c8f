/** The knowledge object versions that have an endpoint here, and the watch over their workers. */
import { realClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { Network } from '../network/network.ts';
import { WORKER_LOSSES, type WorkerLoss } from './calls-beside.ts';
import { neverStarted, ChildProgram, type Command, type ProcessEvents, type Sandbox } from './process.ts';
import { checkThreads, ScratchFolders } from './scratch-folders.ts';
import { Starts } from './starts.ts';
import type { Kernel } from '../../confinement/walls.ts';
import { messageOf } from '../../lib/errors.ts';
import { Tally } from '../../lib/tally.ts';
import type { EngineFigures } from '../engine.ts';
import { codeOf } from './packages/errors.ts';
import { KoPool } from './ko-pool.ts';
import type { KoPoolOptions } from './ko-pool.ts';
import { workerPolicy } from './worker-policy.ts';
import type { WorkerPolicy } from './worker-policy.ts';
import type { WorkerHome, WorkerProgram } from './adapter.ts';

export interface WorkerLimits {
  readonly bodyLimit: number;
  readonly outputLimit: number;
  /** Calls of one knowledge object that run at the same time, and that wait. */
  readonly concurrency: number;
  readonly queue: number;
  readonly loadLimitMs: number;
  /** Milliseconds after which a worker with nothing to do is stopped. */
  readonly idleTimeoutMs: number;
  /** Workers that may be kept with nothing to do. */
  readonly idleWorkers: number;
}

export interface PoolLog {
  /** `ko`: `<naan>/<name>/<version>`. */
  printed(ko: string, stream: 'stdout' | 'stderr', line: string): void;
  ended(ko: string, reason: string): void;
}

export interface PoolOptions extends WorkerLimits {
  readonly program: WorkerProgram;
  /** In which each worker gets a folder of its own. */
  readonly scratch: string;
  readonly log: PoolLog;
  /** What opens the network to those that may use it; none does where it is left out. */
  readonly network?: Pick<Network, 'open'>;
  /** `<naan>/<name>` of those whose code may start programs. */
  readonly processes?: readonly string[];
  /** … and may load native addons. */
  readonly addons?: readonly string[];
  /** Of which processes get walls; none do where it is left out. */
  readonly kernel?: Kernel;
  readonly clock?: Clock;
  readonly policy?: WorkerPolicy;
  /** In place of real processes. */
  readonly startProcess?: (command: Command, events: ProcessEvents) => Sandbox;
}

export class KoPools {
  readonly #options: PoolOptions;
  readonly #koOptions: KoPoolOptions;
  readonly #scratch: ScratchFolders;
  readonly #hosts = new Map<string, KoPool>();
  readonly #closing = new Set<KoPool>();
  readonly #losses = new Tally<WorkerLoss>(WORKER_LOSSES);
  #pace: 'asleep' | 'idle' | 'busy' = 'asleep';
  #stopWatch: () => void = () => undefined;
  #scratchAt = 0;

  constructor(options: PoolOptions) {
    const { clock = realClock, policy = workerPolicy } = options;
    this.#options = options;
    this.#scratch = new ScratchFolders(options.scratch, policy);
    this.#koOptions = {
      ...options,
      clock,
      policy,
      starts: new Starts(clock),
      isBehindOthers: false,
      losses: this.#losses,
      start: (home, events) => this.#start(home, events),
    };
  }

  /**
   * `state`: what tells apart two states of one version, such as its checksum. `forRecords`: for calls of which nobody
   * waits for one alone, which come after all others on the cores.
   */
  host(ko: string, state: string, forRecords = false): KoPool {
    const key = `${ko} ${state}${forRecords ? ' records' : ''}`;
    const known = this.#hosts.get(key);
    if (known) return known;
    const { log } = this.#options;
    const told = {
      printed: (stream: 'stdout' | 'stderr', line: string) => log.printed(ko, stream, line),
      failed: (reason: string) => log.ended(ko, reason),
    };
    const host = new KoPool(ko, { ...this.#koOptions, isBehindOthers: forRecords }, told, () => this.#watch('busy'));
    this.#hosts.set(key, host);
    return host;
  }

  /** Lets go of all but these; what runs in the others comes to its end. */
  keepOnly(used: ReadonlySet<KoPool>): void {
    for (const [key, host] of this.#hosts) {
      if (used.has(host)) continue;
      this.#hosts.delete(key);
      this.#closing.add(host);
      void host.close().then(() => this.#closing.delete(host));
    }
  }

  get workerCount(): number {
    return this.#all().reduce((sum, host) => sum + host.workers.length, 0);
  }

  figures(): Pick<EngineFigures, 'waiting' | 'longestQueue' | 'processes' | 'restarts'> {
    const hosts = this.#all();
    return {
      waiting: hosts.reduce((sum, { waiting }) => sum + waiting, 0),
      longestQueue: hosts.reduce((most, { waiting }) => Math.max(most, waiting), 0),
      processes: hosts.flatMap(({ workers }) =>
        workers.map((worker) => ({ kind: 'worker' as const, memory: () => worker.process.memory() })),
      ),
      restarts: [...this.#losses].map(([reason, count]) => ['worker', reason, count]),
    };
  }

  /** Why no worker can be started, while that is so. */
  get problem(): string | undefined {
    return this.#koOptions.starts.problem;
  }

  /** Folders in which workers write. */
  get scratchFolders(): readonly string[] {
    return this.#scratch.folders;
  }

  /** Ends every process at once. */
  kill(): void {
    this.#watch('asleep');
    for (const host of this.#all()) host.kill();
    this.#scratch.removeAll();
  }

  /** Removes what an earlier one left that was killed. Before the first worker starts. */
  async clear(): Promise<void> {
    await this.#scratch.clear();
  }

  #start(home: Omit<WorkerHome, 'scratch'>, events: ProcessEvents): Sandbox {
    let scratch = '';
    try {
      scratch = this.#scratch.make();
      return this.#startIn(scratch, home, events);
    } catch (thrown) {
      if (scratch !== '') this.#scratch.remove(scratch);
      return neverStarted(events, `no scratch folder can be made for it (${codeOf(thrown) ?? messageOf(thrown)})`);
    }
  }

  #startIn(scratch: string, home: Omit<WorkerHome, 'scratch'>, events: ProcessEvents): Sandbox {
    const { program, kernel, startProcess = startBehind(kernel) } = this.#options;
    const { starts } = this.#koOptions;
    const process = startProcess(program.command({ ...home, scratch }), {
      ...events,
      onFrame: (...frame) => {
        if (starts.problem !== undefined) starts.onReady();
        events.onFrame(...frame);
      },
      onExit: (reason, begun) => {
        this.#scratch.remove(scratch);
        events.onExit(reason, begun);
      },
    });
    if (process.pid !== undefined) this.#scratch.belongsTo(scratch, process.pid);
    return process;
  }

  #all(): KoPool[] {
    return [...this.#hosts.values(), ...this.#closing];
  }

  #watch(pace: 'asleep' | 'idle' | 'busy'): void {
    if (pace === this.#pace) return;
    this.#stopWatch();
    this.#pace = pace;
    const { clock, policy } = this.#koOptions;
    this.#stopWatch =
      pace === 'asleep'
        ? () => undefined
        : clock.every(pace === 'busy' ? policy.tickMs : policy.idleTickMs, () => this.#look());
  }

  #look(): void {
    const { clock, policy } = this.#koOptions;
    const now = clock.now();
    const hosts = this.#all();
    for (const host of hosts) host.look();
    this.#stopIdle(hosts, now);
    if (now - this.#scratchAt >= policy.scratchCheckMs) {
      this.#scratchAt = now;
      const endFor =
        (loss: WorkerLoss) =>
        (pid: number, reason: string): void =>
          hosts.forEach((host) => host.endFor(loss, pid, reason));
      void this.#scratch.check(endFor('scratch'));
      const pids = hosts.flatMap(({ workers }) => workers.flatMap(({ process }) => process.pid ?? []));
      checkThreads(pids, policy.mostThreads, endFor('threads'));
    }
    const isBusy = hosts.some(({ hasWork }) => hasWork);
    this.#watch(isBusy ? 'busy' : hosts.some(({ workers }) => workers.length > 0) ? 'idle' : 'asleep');
  }

  #stopIdle(hosts: readonly KoPool[], now: number): void {
    const idle = hosts
      .flatMap((host) => (host.idleWorker ? [{ host, since: host.idleWorker.idleSince }] : []))
      .sort((one, other) => one.since - other.since);
    for (const [index, { host, since }] of idle.entries()) {
      const surplus = index < idle.length - this.#options.idleWorkers;
      if (surplus || now - since > this.#options.idleTimeoutMs) host.stopIdle();
    }
  }
}

const startBehind =
  (kernel: Kernel | undefined) =>
  (command: Command, events: ProcessEvents): Sandbox =>
    new ChildProgram(command, events, kernel);
