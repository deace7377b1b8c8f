/** Workers that take no further work, or one piece of it at a time, each ended by itself at its limit or by SIGKILL just after. */
import type { Endpoint } from './endpoint.ts';
import { Worker } from './worker.ts';
import type { WorkerContext } from './worker-context.ts';
import { growthAllowed } from './policy.ts';

/** A process that is not up by then never comes up. */
export const STARTING_MS = 60_000;
/** What is not used for so long is ended. */
const IDLE_MS = 5000;
/** Between the limit that the sandbox itself keeps and the end of the process. */
const GRACE_MS = 250;

export interface ExclusiveWorker {
  readonly worker: Worker;
  /** Ends after its present work: it was shared, and holds the code of others. */
  readonly retires: boolean;
  readonly priority: number;
  idleSince: number;
  /** Resident bytes at the time when its present work was given to it. */
  base: number;
}

export class ExclusiveWorkers {
  readonly #context: WorkerContext;
  readonly #growth: number;
  readonly #workers = new Map<Worker, ExclusiveWorker>();

  constructor(context: WorkerContext, memoryMb: number) {
    this.#context = context;
    this.#growth = growthAllowed(memoryMb);
  }

  get size(): number {
    return this.#workers.size;
  }

  has(worker: Worker): boolean {
    return this.#workers.has(worker);
  }

  /** True when nothing but its present work ever ran in it at the same time. */
  isAlone(worker: Worker): boolean {
    return this.#workers.get(worker)?.retires === false;
  }

  all(): Iterable<Worker> {
    return this.#workers.keys();
  }

  /** Starts another process, unless starts fail. */
  start(priority: number): void {
    if (this.#context.starts.mayStart) this.#add(new Worker(this.#context), priority, false);
  }

  /** Takes over a shared worker together with the work that it is at. */
  attach(worker: Worker, priority: number): void {
    this.begin(this.#add(worker, priority, true));
  }

  /** It is given work. */
  begin(exclusive: ExclusiveWorker): void {
    exclusive.base = exclusive.worker.process.memory();
  }

  /** The work of a process was answered. */
  free(worker: Worker): void {
    const exclusive = this.#workers.get(worker);
    if (exclusive === undefined || !worker.isDone) return;
    // Some memory is never given back.
    if (exclusive.retires || worker.process.memory() > this.#growth) {
      this.remove(worker);
      worker.end();
    } else exclusive.idleSince = this.#context.clock.now();
  }

  remove(worker: Worker): void {
    this.#workers.delete(worker);
  }

  /** Processes whose work should have ended, or begun. */
  overdue(now: number): Worker[] {
    return this.#workersWhere(({ worker }) => {
      return worker.first !== undefined && now > worker.first.deadline + GRACE_MS;
    });
  }

  tooLarge(): Worker[] {
    return this.#workersWhere(
      ({ worker, base }) => worker.open.length > 0 && worker.process.memory() > base + this.#growth,
    );
  }

  /** Ends processes that nobody needed for a while. */
  endIdle(now: number): void {
    const isUnused = ({ worker, idleSince }: ExclusiveWorker): boolean =>
      worker.open.length === 0 && now - Math.max(idleSince, worker.lastHeard) > (worker.ready ? IDLE_MS : STARTING_MS);
    for (const worker of this.#workersWhere(isUnused)) {
      this.remove(worker);
      worker.end();
    }
  }

  running(endpoint: Endpoint): number {
    return this.where(({ worker }) => worker.first?.endpoint === endpoint && !worker.isWaiting).length;
  }

  busy(): ExclusiveWorker[] {
    return this.where(({ worker }) => worker.open.length > 0);
  }

  /** Processes of a place on the cores that have nothing to do, also those that are still coming up. */
  idling(priority: number): ExclusiveWorker[] {
    return this.where(
      (exclusive) => exclusive.worker.open.length === 0 && !exclusive.retires && exclusive.priority === priority,
    );
  }

  where(condition: (exclusive: ExclusiveWorker) => boolean): ExclusiveWorker[] {
    const found: ExclusiveWorker[] = [];
    for (const exclusive of this.#workers.values()) if (condition(exclusive)) found.push(exclusive);
    return found;
  }

  #add(worker: Worker, priority: number, retires: boolean): ExclusiveWorker {
    if (this.#context.beside === undefined) worker.lowerPriority(priority);
    const exclusive = { worker, retires, priority, idleSince: this.#context.clock.now(), base: 0 };
    this.#workers.set(worker, exclusive);
    return exclusive;
  }

  #workersWhere(condition: (exclusive: ExclusiveWorker) => boolean): Worker[] {
    return this.where(condition).map(({ worker }) => worker);
  }
}
