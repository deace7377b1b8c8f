/**
 * The workers that take any call, and the standby that takes the place of one that leaves, so that nothing waits until a
 * process has been started. After a while without work there is no standby.
 */
import { STARTING_MS } from './exclusive-workers.ts';
import { bytesAllowed, isStuck } from './policy.ts';
import { Worker } from './worker.ts';
import type { WorkerContext } from './worker-context.ts';

/** The warm-up worker is ended where nothing is to be loaded for so long. */
const WARM_UP_IDLE_MS = 2000;

export class SharedWorkers {
  readonly count: number;
  readonly #context: WorkerContext;
  /** None until there is code to run. */
  readonly #workers: Worker[] = [];
  #standby: Worker | undefined;
  /** Loads code at activation, so that no call stands behind it; there only while it is needed. */
  #warmUp: Worker | undefined;
  /** Counts changes between idle and busy. */
  #changes = 0;

  constructor(context: WorkerContext, count: number) {
    this.#context = context;
    this.count = count;
  }

  /** Starts the processes for calls, where there are none yet. */
  prepare(): void {
    const { beside, starts } = this.#context;
    while (this.#workers.length < this.count && (beside === undefined || starts.mayStart))
      this.#workers.push(this.#start());
  }

  /** There is work. */
  resume(): void {
    this.#changes++;
    if (!this.#context.policy.hasHelpers) return;
    this.prepare();
    this.#standby ??= this.#start();
  }

  /** There is none any more: unless it comes again soon, the standby goes. */
  idle(): void {
    const { clock, policy } = this.#context;
    const change = ++this.#changes;
    clock.after(policy.standbyIdleMs, () => {
      if (change !== this.#changes) return;
      this.#standby?.end();
      this.#standby = undefined;
      if (policy.keepsProcesses) return;
      for (const worker of this.#workers.splice(0)) worker.end();
    });
  }

  get isIdle(): boolean {
    return this.#warmUp === undefined && this.all().every((worker) => worker.open.length === 0);
  }

  /** With the standby and the warm-up worker. */
  all(): Worker[] {
    return [...this.#workers, this.#standby, this.#warmUp].filter((worker) => worker !== undefined);
  }

  has(worker: Worker): boolean {
    return this.#workers.includes(worker);
  }

  /** A call that comes now can begin at once. */
  get hasPlace(): boolean {
    return this.#workers.length < this.count || this.#workers.some((worker) => worker.hasPlace);
  }

  /** The worker that loads code, if it may. */
  forLoad(): Worker | undefined {
    if (!this.#context.policy.hasHelpers) return this.forCalls();
    this.#warmUp ??= this.#start();
    return this.#warmUp.process.alive ? this.#warmUp : undefined;
  }

  /** The one that has the least to do, if one may take calls. */
  forCalls(): Worker | undefined {
    if (!this.#context.policy.hasHelpers) this.prepare();
    let best: Worker | undefined;
    for (const worker of this.#workers)
      if (worker.hasPlace && (best === undefined || worker.open.length < best.open.length)) best = worker;
    return best;
  }

  /** Puts the standby in the place of a worker that leaves; where there is none, the next work starts another. */
  replace(worker: Worker): void {
    if (worker === this.#warmUp) this.#warmUp = undefined;
    const at = this.#workers.indexOf(worker);
    if (at < 0 && worker !== this.#standby) return;
    if (!this.#context.policy.hasHelpers) return void this.#workers.splice(at, 1);
    const hasStandby = this.#standby !== undefined;
    if (at >= 0) this.#workers[at] = this.#standby ?? this.#start();
    this.#standby = hasStandby ? this.#start() : undefined;
  }

  /** Those that are unresponsive. */
  stuck(now: number): Worker[] {
    const { policy } = this.#context;
    return this.all().filter((worker) => {
      if (!worker.ready || worker.open.length === 0) return false;
      const silentMs = now - worker.lastHeard;
      if (silentMs >= policy.silentMs)
        return isStuck({ silentMs, workMs: worker.suspect(), holdsUpCalls: worker.holdsUpCalls }, policy);
      worker.clearOfSuspicion();
      return false;
    });
  }

  /** Kills processes that did not finish starting in time, which are told as failed starts; ends the warm-up worker that is idle. */
  endUseless(now: number): void {
    for (const worker of this.all()) if (!worker.ready && now - worker.startedAt > STARTING_MS) worker.process.kill();
    const warmUp = this.#warmUp;
    if (warmUp === undefined || warmUp.open.length > 0 || now - warmUp.lastHeard < WARM_UP_IDLE_MS) return;
    this.#warmUp = undefined;
    warmUp.end();
  }

  tooLarge(now: number): Worker[] {
    return this.all().filter((worker) => {
      const unusedForMs = worker.open.length === 0 ? now - worker.lastHeard : 0;
      return worker.process.memory() > bytesAllowed(unusedForMs, worker.isolates, this.#context.policy);
    });
  }

  #start(): Worker {
    const worker = new Worker(this.#context);
    worker.lowerPriority(this.#context.policy.fastPriority);
    return worker;
  }
}
