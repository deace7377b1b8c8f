/**
 * Calls whose bodies are large run in processes of their own: what it takes to parse a body is its caller's doing, so it
 * holds up no small call, and says nothing of the code. Callers have their turns one after the other.
 */
import { mayWait, whyNoTurn } from './answers.ts';
import { DedicatedLanes } from './dedicated-lanes.ts';
import type { DedicatedLane } from './dedicated-lanes.ts';
import type { Endpoint } from './endpoint.ts';
import type { Lane } from './lane.ts';
import type { LaneContext } from './lane-context.ts';
import { QUARANTINE_PRIORITY } from './policy.ts';
import type { PendingCall } from './pending-call.ts';

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

  constructor(context: LaneContext, memoryMb: number) {
    this.#large = new Turns(context, memoryMb);
    this.#veryLarge = new Turns(context, memoryMb);
    this.#veryLargeCharacters = VERY_LARGE_TIMES * context.policy.largeCharacters;
  }

  get lanes(): readonly DedicatedLanes[] {
    return [this.#large.lanes, this.#veryLarge.lanes];
  }

  add(endpoint: Endpoint, call: PendingCall): void {
    (call.input.length > this.#veryLargeCharacters ? this.#veryLarge : this.#large).add({ endpoint, call });
  }

  /** A call that may begin, taken out of its line, and the process for it. */
  next(): (Waiting & { lanes: DedicatedLanes; dedicated: DedicatedLane }) | undefined {
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
  readonly lanes: DedicatedLanes;
  /** By caller, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(context: LaneContext, memoryMb: number) {
    this.lanes = new DedicatedLanes(context, memoryMb);
  }

  add(waiting: Waiting): void {
    const { caller } = waiting.call;
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [waiting]);
    else own.push(waiting);
  }

  next(): (Waiting & { lanes: DedicatedLanes; dedicated: DedicatedLane }) | undefined {
    const next = this.#turn();
    if (next === undefined) return undefined;
    const free = this.lanes.idling(QUARANTINE_PRIORITY);
    const dedicated = free.find(({ lane }) => lane.ready);
    if (dedicated === undefined) {
      if (free.length === 0) this.lanes.start(QUARANTINE_PRIORITY);
      return undefined;
    }
    this.#take(next);
    return { ...next, lanes: this.lanes, dedicated };
  }

  /** `lost`: those of an endpoint that came until then will get no turn. */
  expire(now: number, lost: (endpoint: Endpoint) => number): void {
    for (const waiting of [...this.#waiting.values()].flat()) {
      const { endpoint, call } = waiting;
      if (mayWait(call, now, lost(endpoint))) continue;
      this.#take(waiting);
      call.giveUp(whyNoTurn(endpoint, call));
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
    const busy = this.lanes.busy();
    if (busy.length >= LARGE_PROCESSES || busy.filter(({ lane }) => !lane.isWaiting).length >= LARGE_RUNNING)
      return undefined;
    for (const own of this.#waiting.values()) {
      const next = own.find(
        ({ endpoint, call }) => !call.isAbandoned && !busy.some(({ lane }) => isOf(lane, endpoint, call)),
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
function isOf(lane: Lane, endpoint: Endpoint, { caller }: PendingCall): boolean {
  const [work] = lane.open;
  return !lane.isWaiting && work?.endpoint === endpoint && work.calls[0]?.caller === caller;
}
