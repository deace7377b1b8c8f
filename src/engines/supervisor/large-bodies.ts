/**
 * Calls whose bodies are large run in processes of their own: what it takes to parse a body is its caller's doing, so it
 * holds up no small call, and says nothing of the code. Callers have their turns one after the other.
 */
import { mayWait } from './waiting-work.ts';
import { ExclusiveWorkers } from './exclusive-workers.ts';
import type { ExclusiveWorker } from './exclusive-workers.ts';
import type { Endpoint } from './endpoint.ts';
import type { Worker } from './worker.ts';
import type { WorkerContext } from './worker-context.ts';
import { QUARANTINE_PRIORITY } from './policy.ts';
import type { PendingCall } from './work.ts';

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
    const free = this.workers.idling(QUARANTINE_PRIORITY);
    const exclusive = free.find(({ worker }) => worker.ready);
    if (exclusive === undefined) {
      if (free.length === 0) this.workers.start(QUARANTINE_PRIORITY);
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
