/** Sandbox processes that do one work at a time, each ended by V8 at its limit or by SIGKILL just after. */
import type { JsEndpoint } from './js-endpoint.ts';
import { Lane } from './lane.ts';
import type { LaneEvents, Work } from './lane.ts';
import { uptime } from '../../lib/uptime.ts';

/** Milliseconds between the limit that V8 keeps and the end of the process. */
const GRACE = 250;
const IDLE_MILLISECONDS = 5000;
/** A process that is not up by then never comes up. */
const STARTING_MILLISECONDS = 60_000;
const MEGABYTE = 1024 * 1024;

export interface Cell {
  readonly lane: Lane;
  /** Ends after its present work: it holds the isolates of its time in the fast lane. */
  readonly retires: boolean;
  readonly priority: number;
  idleSince: number;
  /** Milliseconds of `uptime()` at which its present work was given to it. */
  began: number;
  /** Resident bytes at that time. */
  base: number;
}

export class Cells {
  readonly #events: LaneEvents;
  readonly #growth: number;
  readonly #cells = new Map<Lane, Cell>();

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

  /** True when nothing but its present work ever ran in it at the same time. */
  isAlone(lane: Lane): boolean {
    return this.#cells.get(lane)?.retires === false;
  }

  lanes(): Iterable<Lane> {
    return this.#cells.keys();
  }

  start(priority: number): void {
    this.#add(new Lane(this.#events), priority, false);
  }

  /** Takes over a process of the fast lane together with the work that it is at. */
  adopt(lane: Lane, priority: number): void {
    this.#begin(this.#add(lane, priority, true));
  }

  give(cell: Cell, work: Work): void {
    this.#begin(cell);
    cell.lane.run(work, true);
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
  }

  remove(lane: Lane): void {
    this.#cells.delete(lane);
  }

  /** Processes whose work should have ended, or begun. */
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
    const isUnused = ({ lane, idleSince }: Cell): boolean =>
      lane.open.length === 0 &&
      now - Math.max(idleSince, lane.progress) > (lane.ready ? IDLE_MILLISECONDS : STARTING_MILLISECONDS);
    for (const lane of this.#lanesWhere(isUnused)) {
      this.remove(lane);
      lane.end();
    }
    return this.#cells.size === 0;
  }

  running(endpoint: JsEndpoint): number {
    return this.where(({ lane }) => lane.open[0]?.endpoint === endpoint && !lane.waits).length;
  }

  busy(): Cell[] {
    return this.where(({ lane }) => lane.open.length > 0);
  }

  /** Processes of a place on the cores that have nothing to do, also those that are still coming up. */
  idling(priority: number): Cell[] {
    return this.where((cell) => cell.lane.open.length === 0 && !cell.retires && cell.priority === priority);
  }

  where(condition: (cell: Cell) => boolean): Cell[] {
    const cells: Cell[] = [];
    for (const cell of this.#cells.values()) if (condition(cell)) cells.push(cell);
    return cells;
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

  #lanesWhere(condition: (cell: Cell) => boolean): Lane[] {
    return this.where(condition).map(({ lane }) => lane);
  }
}
