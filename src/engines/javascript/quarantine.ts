/** Whose turn it is of the code that did not answer soon: one call at a time in each process, at a lower priority. */
import { availableParallelism } from 'node:os';
import { Cells } from './cells.ts';
import type { Cell } from './cells.ts';
import type { JsEndpoint } from './js-endpoint.ts';
import { workOf } from './lane.ts';
import type { Lane, LaneEvents, Work } from './lane.ts';
import { LAST_PLACE } from './sandbox-process.ts';
import { uptime } from '../../lib/uptime.ts';

/** Processes that may use a core at once, so that one endless loop does not hold up all that is merely slow. */
const MOST_RUNNING = Math.max(4, 2 * availableParallelism());
/** Beside those, work of endpoints that never ran into their limit may always begin, this much of it at a time, … */
const MOST_FRESH = 2;
/** … which is no longer fresh after this many milliseconds. */
const FRESH = 500;
/** With those whose code waits for an answer from outside. */
const MOST_PROCESSES = MOST_RUNNING + 16;
/**
 * On the machine's cores this code comes after all else, and what ran into its limit the last time has the last place.
 * A process never gets a better one again.
 */
const BEHIND = 5;

export class Quarantine {
  readonly cells: Cells;
  readonly #waiting = new Set<JsEndpoint>();
  readonly #loads: Work[] = [];

  constructor(events: LaneEvents, heapMb: number) {
    this.cells = new Cells(events, heapMb);
  }

  /** The endpoint has calls that wait. */
  offer(endpoint: JsEndpoint): void {
    this.#waiting.add(endpoint);
    this.pump();
  }

  /** The load of an endpoint that ended a sandbox before. */
  start(work: Work): void {
    this.#loads.push(work);
    this.pump();
  }

  adopt(lane: Lane): void {
    this.cells.adopt(lane, BEHIND);
  }

  /** Gives work to processes: each endpoint a call, and again. */
  pump(): void {
    for (const work of this.#loads.splice(0)) {
      const cell = this.#cellFor(work.endpoint);
      if (cell === undefined) this.#loads.push(work);
      else this.cells.give(cell, work);
    }
    for (let given = true; given;) {
      given = false;
      for (const endpoint of [...this.#waiting]) {
        if (endpoint.queue.length === 0) this.#waiting.delete(endpoint);
        else if (this.cells.running(endpoint) < mostOf(endpoint)) {
          const cell = this.#cellFor(endpoint);
          if (cell === undefined) continue;
          endpoint.inFlight++;
          this.cells.give(cell, workOf(endpoint, endpoint.take(true)));
          given = true;
        }
      }
    }
  }

  /** A process for work that may begin. Where none is free, one is started and the work waits: no call pays for that with its time. */
  #cellFor(endpoint: JsEndpoint): Cell | undefined {
    if (!this.#mayRun(endpoint)) return undefined;
    const priority = priorityOf(endpoint);
    const free = this.cells.idling(priority);
    const ready = free.find(({ lane }) => lane.ready);
    const wanted = [...this.#waiting, ...this.#loads.map((work) => work.endpoint)].filter(
      (each) => priorityOf(each) === priority,
    );
    if (ready === undefined && free.length < Math.min(MOST_RUNNING, Math.max(1, wanted.length)))
      this.cells.start(priority);
    return ready;
  }

  #mayRun(endpoint: JsEndpoint): boolean {
    const busy = this.cells.busy();
    if (busy.length >= MOST_PROCESSES) return false;
    const running = busy.filter(({ lane }) => !lane.waits);
    if (running.length < MOST_RUNNING) return true;
    const now = uptime();
    return !endpoint.runsAway && running.filter(({ began }) => now - began < FRESH).length < MOST_FRESH;
  }
}

/**
 * Calls of it that may run at once. Of those that were in one batch with an endless loop nobody knows which is guilty:
 * while one runs, another may show that not all of the code is bad.
 */
function mostOf({ trust, runsAway }: JsEndpoint): number {
  if (trust > 0) return MOST_RUNNING - 1;
  return runsAway ? 1 : 2;
}

const priorityOf = (endpoint: JsEndpoint): number => (endpoint.runsAway ? LAST_PLACE : BEHIND);
