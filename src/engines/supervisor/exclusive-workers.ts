/** Workers that take no further work, or one piece of it at a time, each ended by itself at its limit or by SIGKILL just after. */
import type { Endpoint } from './endpoint.ts';
import { growthAllowed, callsAtOnce, mayBegin, priorityOf, PROBATION_PRIORITY } from './policy.ts';
import { mayWait } from './waiting-work.ts';
import type { Work, PendingCall } from './work.ts';
import type { WorkerContext } from './worker-context.ts';
import { Worker } from './worker.ts';

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

export class Probation {
  readonly workers: ExclusiveWorkers;
  readonly #context: WorkerContext;
  /** Endpoints that have calls that wait, in the order of their turns. */
  readonly #waiting = new Set<Endpoint>();
  /** Of endpoints that ended a sandbox before. */
  #loads: Work[] = [];

  constructor(context: WorkerContext, memoryMb: number) {
    this.#context = context;
    this.workers = new ExclusiveWorkers(context, memoryMb);
  }

  offer(endpoint: Endpoint): void {
    this.#waiting.add(endpoint);
  }

  offerLoad(work: Work): void {
    this.#loads.push(work);
  }

  attach(worker: Worker): void {
    this.workers.attach(worker, PROBATION_PRIORITY);
  }

  /** Takes away the loads that wait for a process. */
  takeLoads(): Work[] {
    return this.#loads.splice(0);
  }

  /** A load that may begin, and the process for it. */
  nextLoad(): { exclusive: ExclusiveWorker; work: Work } | undefined {
    for (const work of this.#loads) {
      const exclusive = this.#workerFor(work.endpoint);
      if (exclusive === undefined) continue;
      this.#loads = this.#loads.filter((each) => each !== work);
      return { exclusive, work };
    }
    return undefined;
  }

  /** An endpoint whose next call may begin, and the process for it. It goes to the end of the line. */
  nextCall(): { exclusive: ExclusiveWorker; endpoint: Endpoint } | undefined {
    for (const endpoint of [...this.#waiting]) {
      if (!endpoint.onProbation || !endpoint.hasCalls()) this.#waiting.delete(endpoint);
      else if (this.workers.running(endpoint) < callsAtOnce(this.#context.policy)) {
        const exclusive = this.#workerFor(endpoint);
        if (exclusive === undefined) continue;
        this.#waiting.delete(endpoint);
        this.#waiting.add(endpoint);
        return { exclusive, endpoint };
      }
    }
    return undefined;
  }

  /** A process for work that may begin. Where none is free, one is started and the work waits: no call pays for that with its time. */
  #workerFor(endpoint: Endpoint): ExclusiveWorker | undefined {
    const { policy } = this.#context;
    if (!this.#mayBegin()) return undefined;
    const priority = priorityOf(endpoint);
    const free = this.workers.idling(priority);
    const ready = free.find(({ worker }) => worker.ready);
    if (ready !== undefined) return ready;
    const wanted = [...this.#waiting, ...this.#loads.map((work) => work.endpoint)].filter(
      (each) => priorityOf(each) === priority,
    );
    if (free.length < Math.min(policy.probationRunning, Math.max(1, wanted.length))) this.workers.start(priority);
    return undefined;
  }

  #mayBegin(): boolean {
    const busy = this.workers.busy();
    const running = busy.filter(({ worker }) => !worker.isWaiting);
    return mayBegin({ busy: busy.length, running: running.length }, this.#context.policy);
  }
}

/** Very large is 1 MB: the worst of this size takes 100 ms, the worst of 10 MB some seconds. */
const VERY_LARGE_TIMES = 16;
/** Processes that may use a core at once for those that are large, and as many for those that are very large, … */
export const LARGE_RUNNING = 2;
/** … and with those whose code waits for an answer from outside. */
export const LARGE_PROCESSES = 6;

interface Waiting {
  readonly endpoint: Endpoint;
  readonly call: PendingCall;
}

/** Very large bodies do not keep those waiting that are just large. */
export class LargeBodies {
  readonly #large: Turns;
  readonly #veryLarge: Turns;
  readonly #veryLargeCharacters: number;

  constructor(context: WorkerContext, memoryMb: number) {
    this.#large = new Turns(context, memoryMb);
    this.#veryLarge = new Turns(context, memoryMb);
    this.#veryLargeCharacters = VERY_LARGE_TIMES * context.policy.largeCharacters;
  }

  get workers(): readonly ExclusiveWorkers[] {
    return [this.#large.workers, this.#veryLarge.workers];
  }

  add(endpoint: Endpoint, call: PendingCall): void {
    (call.input.length > this.#veryLargeCharacters ? this.#veryLarge : this.#large).add({ endpoint, call });
  }

  /** A call that may begin, taken out of its line, and the process for it. */
  next(): (Waiting & { workers: ExclusiveWorkers; exclusive: ExclusiveWorker }) | undefined {
    return this.#large.next() ?? this.#veryLarge.next();
  }

  /** Answers the calls that were abandoned or got no turn by then. */
  expire(now: number, lost: (endpoint: Endpoint) => number): void {
    this.#large.expire(now, lost);
    this.#veryLarge.expire(now, lost);
  }

  /** Takes all calls out of their lines. */
  clear(): PendingCall[] {
    return [...this.#large.clear(), ...this.#veryLarge.clear()];
  }
}

class Turns {
  readonly workers: ExclusiveWorkers;
  /** By caller, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(context: WorkerContext, memoryMb: number) {
    this.workers = new ExclusiveWorkers(context, memoryMb);
  }

  add(waiting: Waiting): void {
    const { caller } = waiting.call;
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [waiting]);
    else own.push(waiting);
  }

  next(): (Waiting & { workers: ExclusiveWorkers; exclusive: ExclusiveWorker }) | undefined {
    const next = this.#turn();
    if (next === undefined) return undefined;
    const free = this.workers.idling(PROBATION_PRIORITY);
    const exclusive = free.find(({ worker }) => worker.ready);
    if (exclusive === undefined) {
      if (free.length === 0) this.workers.start(PROBATION_PRIORITY);
      return undefined;
    }
    this.#take(next);
    return { ...next, workers: this.workers, exclusive };
  }

  /** `lost`: those of an endpoint that came until then will get no turn. */
  expire(now: number, lost: (endpoint: Endpoint) => number): void {
    for (const waiting of [...this.#waiting.values()].flat()) {
      const { endpoint, call } = waiting;
      if (mayWait(call, now, lost(endpoint))) continue;
      this.#take(waiting);
      const { words } = endpoint.parts;
      call.giveUp(call.isAbandoned ? words.abandoned(endpoint) : words.noTurn(endpoint, call, undefined));
    }
  }

  clear(): PendingCall[] {
    const calls = [...this.#waiting.values()].flat().map(({ call }) => call);
    this.#waiting.clear();
    return calls;
  }

  /** The first call that may run now: of one caller, an endpoint has one process at a time. */
  #turn(): Waiting | undefined {
    if (this.#waiting.size === 0) return undefined;
    const busy = this.workers.busy();
    if (busy.length >= LARGE_PROCESSES || busy.filter(({ worker }) => !worker.isWaiting).length >= LARGE_RUNNING)
      return undefined;
    for (const own of this.#waiting.values()) {
      const next = own.find(
        ({ endpoint, call }) => !call.isAbandoned && !busy.some(({ worker }) => isOf(worker, endpoint, call)),
      );
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** Its caller goes to the end of the line. */
  #take(waiting: Waiting): void {
    const { caller } = waiting.call;
    const own = this.#waiting.get(caller) ?? [];
    const rest = own.filter((each) => each !== waiting);
    this.#waiting.delete(caller);
    if (rest.length > 0) this.#waiting.set(caller, rest);
  }
}

/** A call that waits for an answer from outside keeps no other of its caller from its turn: that may be what it waits for. */
function isOf(worker: Worker, endpoint: Endpoint, { caller }: PendingCall): boolean {
  const { first, isWaiting } = worker;
  return !isWaiting && first?.endpoint === endpoint && first.calls[0]?.caller === caller;
}
