/**
 * Calls whose bodies are large run in processes of their own: what it takes to parse a body is its caller's doing, so it
 * holds up no small call, and says nothing of the code. Callers have their turns one after the other.
 */
import { noTurn } from './answers.ts';
import { Cells } from './cells.ts';
import type { JsEndpoint, PendingCall } from './js-endpoint.ts';
import { workOf } from './lane.ts';
import type { Lane, LaneEvents, Work } from './lane.ts';

/**
 * Characters of JSON above which a body is large. The worst of this size, arrays of small objects with keys of their own,
 * was measured to be parsed in 3 ms, in 9 ms on a busy machine; a sandbox is suspected after 75.
 */
export const LARGE_BODY = 64 * 1024;
/** Characters above which it is very large: the worst of this size takes 100 ms, the worst of 10 MB some seconds. */
const VERY_LARGE_BODY = 1024 * 1024;
/** Processes that may use a core at once for those that are large, and as many for those that are very large, … */
const MOST_RUNNING = 2;
/** … and with those whose code waits for an answer from outside. */
const MOST_PROCESSES = MOST_RUNNING + 4;
const BEHIND = 5;

interface Waiting {
  readonly endpoint: JsEndpoint;
  readonly call: PendingCall;
}

/** Very large bodies do not keep those waiting that are just large. */
export class LargeBodies {
  readonly #large: Turns;
  readonly #veryLarge: Turns;

  constructor(events: LaneEvents, heapMb: number) {
    this.#large = new Turns(events, heapMb);
    this.#veryLarge = new Turns(events, heapMb);
  }

  get cells(): readonly Cells[] {
    return [this.#large.cells, this.#veryLarge.cells];
  }

  add(endpoint: JsEndpoint, call: PendingCall): void {
    this.#turnsOf(call).add({ endpoint, call });
  }

  pump(): void {
    this.#large.pump();
    this.#veryLarge.pump();
  }

  /** Answers the calls that got no turn within their time. */
  expire(now: number): void {
    this.#large.expire(now);
    this.#veryLarge.expire(now);
  }

  #turnsOf = ({ input }: PendingCall): Turns => (input.length > VERY_LARGE_BODY ? this.#veryLarge : this.#large);
}

class Turns {
  readonly cells: Cells;
  /** By caller, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(events: LaneEvents, heapMb: number) {
    this.cells = new Cells(events, heapMb);
  }

  add(waiting: Waiting): void {
    const { caller } = waiting.call;
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [waiting]);
    else own.push(waiting);
    this.pump();
  }

  pump(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const cell = this.cells.idling(BEHIND).find(({ lane }) => lane.ready);
      if (cell === undefined) {
        this.#startAnother();
        return;
      }
      const { endpoint, call } = next;
      this.#take(next);
      this.cells.give(cell, workOf(endpoint, [call], { isLarge: true }));
    }
  }

  expire(now: number): void {
    for (const waiting of [...this.#waiting.values()].flat()) {
      if (waiting.call.patience > now) continue;
      this.#take(waiting);
      waiting.endpoint.large--;
      waiting.call.reject(noTurn(waiting.endpoint, waiting.call));
    }
  }

  /** The first call that may run now: of one caller, an endpoint has one process at a time. */
  #next(): Waiting | undefined {
    const busy = this.cells.busy();
    if (busy.length >= MOST_PROCESSES || busy.filter(({ lane }) => !lane.waits).length >= MOST_RUNNING)
      return undefined;
    for (const own of this.#waiting.values()) {
      const next = own.find(({ endpoint, call }) => !busy.some(({ lane }) => isOf(lane, endpoint, call)));
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

  #startAnother(): void {
    if (this.cells.idling(BEHIND).length === 0) this.cells.start(BEHIND);
  }
}

/** A call that waits for an answer from outside keeps no other of its caller from its turn: that may be what it waits for. */
function isOf(lane: Lane, endpoint: JsEndpoint, { caller }: PendingCall): boolean {
  const work: Work | undefined = lane.open[0];
  return !lane.waits && work?.endpoint === endpoint && work.calls[0]?.caller === caller;
}
