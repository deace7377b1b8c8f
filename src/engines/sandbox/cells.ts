/** Sandbox processes that do one work at a time, each ended by itself at its limit or by SIGKILL just after. */
import type { Endpoint } from './endpoint.ts';
import { Lane } from './lane.ts';
import type { LaneContext } from './lane.ts';
import { growthAllowed } from './policy.ts';

export interface Cell {
  readonly lane: Lane;
  /** Ends after its present work: it holds the isolates of its time in the fast lane. */
  readonly retires: boolean;
  readonly priority: number;
  idleSince: number;
  /** Milliseconds of the clock at which its present work was given to it. */
  began: number;
  /** Resident bytes at that time. */
  base: number;
}

export class Cells {
  readonly #context: LaneContext;
  readonly #growth: number;
  readonly #cells = new Map<Lane, Cell>();

  constructor(context: LaneContext, memoryMb: number) {
    this.#context = context;
    this.#growth = growthAllowed(memoryMb);
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

  /** Starts another process, unless starts fail. */
  start(priority: number): void {
    if (this.#context.starts.mayStart) this.#add(new Lane(this.#context), priority, false);
  }

  /** Takes over a process of the fast lane together with the work that it is at. */
  adopt(lane: Lane, priority: number): void {
    this.begin(this.#add(lane, priority, true));
  }

  /** It is given work. */
  begin(cell: Cell): void {
    cell.began = this.#context.clock.now();
    cell.base = cell.lane.process.memory();
  }

  /** The work of a process was answered. */
  free(lane: Lane): void {
    const cell = this.#cells.get(lane);
    if (cell === undefined || lane.open.length > 0) return;
    // Some memory is never given back.
    if (cell.retires || lane.process.memory() > this.#growth) {
      this.remove(lane);
      lane.end();
    } else cell.idleSince = this.#context.clock.now();
  }

  remove(lane: Lane): void {
    this.#cells.delete(lane);
  }

  /** Processes whose work should have ended, or begun. */
  overdue(now: number): Lane[] {
    return this.#lanesWhere(({ lane }) => {
      const [work] = lane.open;
      return work !== undefined && now > work.deadline + this.#context.policy.graceMs;
    });
  }

  tooLarge(): Lane[] {
    return this.#lanesWhere(({ lane, base }) => lane.open.length > 0 && lane.process.memory() > base + this.#growth);
  }

  /** Ends processes that nobody needed for a while. */
  endIdle(now: number): void {
    const { cellIdleMs, startingMs } = this.#context.policy;
    const isUnused = ({ lane, idleSince }: Cell): boolean =>
      lane.open.length === 0 && now - Math.max(idleSince, lane.progress) > (lane.ready ? cellIdleMs : startingMs);
    for (const lane of this.#lanesWhere(isUnused)) {
      this.remove(lane);
      lane.end();
    }
  }

  running(endpoint: Endpoint): number {
    return this.where(({ lane }) => lane.open[0]?.endpoint === endpoint && !lane.isWaiting).length;
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
    lane.lowerPriority(priority);
    const cell = { lane, retires, priority, idleSince: this.#context.clock.now(), began: 0, base: 0 };
    this.#cells.set(lane, cell);
    return cell;
  }

  #lanesWhere(condition: (cell: Cell) => boolean): Lane[] {
    return this.where(condition).map(({ lane }) => lane);
  }
}
