/**
 * Sandboxes for code that did not answer soon: one call at a time in each process, at a lower priority, ended
 * by V8 at its limit or by SIGKILL just after.
 */
import { availableParallelism } from 'node:os';
import type { JsEndpoint } from './js-endpoint.ts';
import { Lane } from './lane.ts';
import type { LaneEvents, Work } from './lane.ts';
import { LAST_PLACE } from './sandbox-process.ts';
import { uptime } from '../../lib/uptime.ts';

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
/**
 * On the machine's cores this code comes after all else, and what ran into its limit the last time has the last place.
 * A process never gets a better one again.
 */
const BEHIND = 5;
const MEGABYTE = 1024 * 1024;

interface Cell {
  readonly lane: Lane;
  /** Ends after its present work: it holds the isolates of its time in the fast lane. */
  readonly retires: boolean;
  readonly priority: number;
  idleSince: number;
  /** Milliseconds of `uptime()` at which its present work began. */
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
    this.#begin(this.#add(lane, BEHIND, true));
  }

  /** The work of a process was answered. */
  free(lane: Lane): void {
    const cell = this.#cells.get(lane);
    if (cell === undefined || lane.open.length > 0) return;
    // Some memory is never given back.
    if (cell.retires || lane.process.memory() > this.#growth) {
      this.remove(lane);
      lane.end();
    } else cell.idleSince = uptime();
    this.pump();
  }

  remove(lane: Lane): void {
    this.#cells.delete(lane);
  }

  /** Gives work to processes: each endpoint a call, and again. */
  pump(): void {
    for (const work of this.#loads.splice(0)) {
      const cell = this.#cellFor(work.endpoint);
      if (cell === undefined) this.#loads.push(work);
      else this.#give(cell, work);
    }
    for (let given = true; given;) {
      given = false;
      for (const endpoint of [...this.#waiting]) {
        if (endpoint.queue.length === 0) this.#waiting.delete(endpoint);
        else if (this.#running(endpoint) < (endpoint.trust > 0 ? MOST_RUNNING - 1 : 1)) {
          const cell = this.#cellFor(endpoint);
          if (cell === undefined) continue;
          endpoint.inFlight++;
          this.#give(cell, { endpoint, calls: endpoint.take(true), attempts: 0, deadline: 0, calledOut: false });
          given = true;
        }
      }
    }
  }

  /** Processes whose work should have ended. */
  overdue(now: number): Lane[] {
    return this.#lanesWhere(({ lane }) => {
      const [work] = lane.open;
      return work !== undefined && now > work.deadline + GRACE;
    });
  }

  tooLarge(): Lane[] {
    return this.#lanesWhere(({ lane, base }) => lane.open.length > 0 && lane.process.memory() > base + this.#growth);
  }

  /** Ends processes that nobody needed for a while; true when none is left. */
  idle(now: number): boolean {
    for (const lane of this.#lanesWhere(
      (cell) => cell.lane.open.length === 0 && now - cell.idleSince > IDLE_MILLISECONDS,
    )) {
      this.remove(lane);
      lane.end();
    }
    return this.#cells.size === 0;
  }

  /** A process for work that may begin. Where none is free, one is started and the work waits: no call pays for that with its time. */
  #cellFor(endpoint: JsEndpoint): Cell | undefined {
    if (!this.#mayRun(endpoint)) return undefined;
    const priority = priorityOf(endpoint);
    const free = this.#where(
      ({ lane, retires, ...cell }) => lane.open.length === 0 && !retires && cell.priority === priority,
    );
    const ready = free.find(({ lane }) => lane.ready);
    const wanted = [...this.#waiting, ...this.#loads.map((work) => work.endpoint)].filter(
      (each) => priorityOf(each) === priority,
    );
    if (ready === undefined && free.length < Math.min(MOST_RUNNING, Math.max(1, wanted.length)))
      this.#add(new Lane(this.#events), priority, false);
    return ready;
  }

  #add(lane: Lane, priority: number, retires: boolean): Cell {
    lane.giveWay(priority);
    const cell = { lane, retires, priority, idleSince: uptime(), began: 0, base: 0 };
    this.#cells.set(lane, cell);
    return cell;
  }

  #begin(cell: Cell): void {
    cell.began = uptime();
    cell.base = cell.lane.process.memory();
  }

  #give(cell: Cell, work: Work): void {
    this.#begin(cell);
    cell.lane.run(work, true);
  }

  #mayRun(endpoint: JsEndpoint): boolean {
    const busy = this.#where(({ lane }) => lane.open.length > 0);
    if (busy.length >= MOST_PROCESSES) return false;
    const running = busy.filter(({ lane }) => !lane.waits);
    if (running.length < MOST_RUNNING) return true;
    const now = uptime();
    return !endpoint.runsAway && running.filter(({ began }) => now - began < FRESH).length < MOST_FRESH;
  }

  #running(endpoint: JsEndpoint): number {
    return this.#where(({ lane }) => lane.open[0]?.endpoint === endpoint && !lane.waits).length;
  }

  #lanesWhere(condition: (cell: Cell) => boolean): Lane[] {
    return this.#where(condition).map(({ lane }) => lane);
  }

  #where(condition: (cell: Cell) => boolean): Cell[] {
    const cells: Cell[] = [];
    for (const cell of this.#cells.values()) if (condition(cell)) cells.push(cell);
    return cells;
  }
}

const priorityOf = (endpoint: JsEndpoint): number => (endpoint.runsAway ? LAST_PLACE : BEHIND);
