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
/** With those whose code waits for an answer from outside. */
const MOST_PROCESSES = MOST_RUNNING + 16;
const MEGABYTE = 1024 * 1024;

interface Cell {
  readonly lane: Lane;
  /** Ends after its present work: it holds the isolates of its time in the fast lane. */
  readonly retires: boolean;
  idleSince: number;
  /** Resident bytes when its present work began. */
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
    this.#cells.set(lane, { lane, retires: true, idleSince: 0, base: lane.process.memory() });
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
    for (let work = this.#loads[0]; work !== undefined && this.#mayRun(); work = this.#loads[0]) {
      this.#loads.shift();
      this.#lane().run(work, true);
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      // To the end of the line, so that the next one is another endpoint.
      this.#waiting.delete(next);
      this.#waiting.add(next);
      next.inFlight++;
      this.#lane().run({ endpoint: next, calls: next.take(true), attempts: 0, deadline: 0, calledOut: false }, true);
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
    if (!this.#mayRun()) return undefined;
    for (const endpoint of this.#waiting) {
      if (endpoint.queue.length === 0) this.#waiting.delete(endpoint);
      else if (this.#running(endpoint) < MOST_RUNNING - 1) return endpoint;
    }
    return undefined;
  }

  #lane(): Lane {
    const [idle] = this.#where((cell) => cell.lane.open.length === 0 && !cell.retires);
    const lane = idle ?? new Lane(this.#events);
    if (idle === undefined) lane.giveWay();
    this.#cells.set(lane, { lane, retires: false, idleSince: 0, base: lane.process.memory() });
    return lane;
  }

  #mayRun(): boolean {
    const busy = this.#where((cell) => cell.lane.open.length > 0);
    return busy.length < MOST_PROCESSES && busy.filter((lane) => !lane.waits).length < MOST_RUNNING;
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
