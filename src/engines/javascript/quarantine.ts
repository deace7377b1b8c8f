/**
 * Sandboxes for code that did not answer soon: one call at a time in each process, at a lower priority, ended
 * by V8 at its limit or by SIGKILL just after.
 */
import { availableParallelism } from 'node:os';
import type { JsEndpoint } from './js-endpoint.ts';
import { Lane } from './lane.ts';
import type { LaneEvents, Work } from './lane.ts';

/** Milliseconds between the limit that V8 keeps and the end of the process. */
const GRACE = 250;
const IDLE_MILLISECONDS = 5000;
/** Processes that may use a core at once, so that one endless loop does not hold up all that is merely slow. */
const MOST_RUNNING = Math.max(4, 2 * availableParallelism());
/** Beside those, work of endpoints that never ran into their limit may always begin, this much of it at a time, … */
const MOST_FRESH = 2;
/** … which is no longer fresh after this many milliseconds. */
const FRESH = 500;
/** With those whose code waits for an answer from outside. */
const MOST_PROCESSES = MOST_RUNNING + 16;
const MEGABYTE = 1024 * 1024;

interface Cell {
  readonly lane: Lane;
  /** Ends after its present work: it holds the isolates of its time in the fast lane. */
  readonly retires: boolean;
  idleSince: number;
  /** Epoch milliseconds at which its present work began. */
  began: number;
  /** Resident bytes at that time. */
  base: number;
}

export class Quarantine {
  readonly #events: LaneEvents;
  readonly #growth: number;
  readonly #cells = new Map<Lane, Cell>();
  readonly #waiting = new Set<JsEndpoint>();
  readonly #loads: Work[] = [];

  constructor(events: LaneEvents, heapMb: number) {
    this.#events = events;
    // V8 grants more than the limit for a moment before it gives up.
    this.#growth = (4 * heapMb + 200) * MEGABYTE;
  }

  get size(): number {
    return this.#cells.size;
  }

  has(lane: Lane): boolean {
    return this.#cells.has(lane);
  }

  lanes(): Iterable<Lane> {
    return this.#cells.keys();
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

  /** Takes over a process of the fast lane together with the work that it is at. */
  adopt(lane: Lane): void {
    lane.giveWay();
    this.#cells.set(lane, { lane, retires: true, idleSince: 0, began: Date.now(), base: lane.process.memory() });
  }

  /** The work of a process was answered. */
  free(lane: Lane): void {
    const cell = this.#cells.get(lane);
    if (cell === undefined || lane.open.length > 0) return;
    if (cell.retires) {
      this.remove(lane);
      lane.end();
    } else cell.idleSince = Date.now();
    this.pump();
  }

  remove(lane: Lane): void {
    this.#cells.delete(lane);
  }

  /** Gives work to processes, an endpoint after the other. */
  pump(): void {
    for (let work = this.#loads[0]; work !== undefined; work = this.#loads[0]) {
      const lane = this.#mayRun(work.endpoint) ? this.#lane() : undefined;
      if (lane === undefined) break;
      this.#loads.shift();
      this.#give(lane, work);
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const lane = this.#lane();
      if (lane === undefined) return;
      // To the end of the line, so that the next one is another endpoint.
      this.#waiting.delete(next);
      this.#waiting.add(next);
      next.inFlight++;
      this.#give(lane, { endpoint: next, calls: next.take(true), attempts: 0, deadline: 0, calledOut: false });
    }
  }

  /** Processes whose work should have ended. */
  overdue(now: number): Lane[] {
    return this.#where((cell) => {
      const work = cell.lane.open[0];
      return work !== undefined && now > work.deadline + GRACE;
    });
  }

  tooLarge(): Lane[] {
    return this.#where((cell) => cell.lane.open.length > 0 && cell.lane.process.memory() > cell.base + this.#growth);
  }

  /** Ends processes that nobody needed for a while; true when none is left. */
  idle(now: number): boolean {
    for (const lane of this.#where((cell) => cell.lane.open.length === 0 && now - cell.idleSince > IDLE_MILLISECONDS)) {
      this.remove(lane);
      lane.end();
    }
    return this.#cells.size === 0;
  }

  /** The endpoint whose turn it is, if one may run. */
  #next(): JsEndpoint | undefined {
    for (const endpoint of this.#waiting) {
      if (endpoint.queue.length === 0) this.#waiting.delete(endpoint);
      else if (this.#running(endpoint) < MOST_RUNNING - 1 && this.#mayRun(endpoint)) return endpoint;
    }
    return undefined;
  }

  /** A process that is free. Where there is none, one is started and the work waits: no call pays for that with its time. */
  #lane(): Lane | undefined {
    const free = this.#where(({ lane, retires }) => lane.open.length === 0 && !retires);
    const ready = free.find((lane) => lane.ready);
    if (ready === undefined && free.length < Math.min(MOST_RUNNING, this.#waiting.size + this.#loads.length)) {
      const lane = new Lane(this.#events);
      lane.giveWay();
      this.#cells.set(lane, { lane, retires: false, idleSince: Date.now(), began: 0, base: 0 });
    }
    return ready;
  }

  #give(lane: Lane, work: Work): void {
    this.#cells.set(lane, { lane, retires: false, idleSince: 0, began: Date.now(), base: lane.process.memory() });
    lane.run(work, true);
  }

  #mayRun(endpoint: JsEndpoint): boolean {
    const busy = this.#where(({ lane }) => lane.open.length > 0);
    if (busy.length >= MOST_PROCESSES) return false;
    if (busy.filter((lane) => !lane.waits).length < MOST_RUNNING) return true;
    const now = Date.now();
    const fresh = this.#where(({ lane, began }) => lane.open.length > 0 && !lane.waits && now - began < FRESH);
    return !endpoint.runsAway && fresh.length < MOST_FRESH;
  }

  #running(endpoint: JsEndpoint): number {
    return this.#where((cell) => cell.lane.open[0]?.endpoint === endpoint && !cell.lane.waits).length;
  }

  #where(condition: (cell: Cell) => boolean): Lane[] {
    const lanes: Lane[] = [];
    for (const cell of this.#cells.values()) if (condition(cell)) lanes.push(cell.lane);
    return lanes;
  }
}
