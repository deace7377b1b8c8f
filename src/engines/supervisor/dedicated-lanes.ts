/** Sandbox processes that do one work at a time, each ended by itself at its limit or by SIGKILL just after. */
import type { Endpoint } from './endpoint.ts';
import { Lane } from './lane.ts';
import type { LaneContext } from './lane-context.ts';
import { growthAllowed } from './policy.ts';

/** A process that is not up by then never comes up. */
export const STARTING_MS = 60_000;
/** What is not used for so long is ended. */
const IDLE_MS = 5000;
/** Between the limit that the sandbox itself keeps and the end of the process. */
const GRACE_MS = 250;

export interface DedicatedLane {
  readonly lane: Lane;
  /** Ends after its present work: it holds the isolates of its time in the fast lane. */
  readonly retires: boolean;
  readonly priority: number;
  idleSince: number;
  /** Resident bytes at the time when its present work was given to it. */
  base: number;
}

export class DedicatedLanes {
  readonly #context: LaneContext;
  readonly #growth: number;
  readonly #lanes = new Map<Lane, DedicatedLane>();

  constructor(context: LaneContext, memoryMb: number) {
    this.#context = context;
    this.#growth = growthAllowed(memoryMb);
  }

  get size(): number {
    return this.#lanes.size;
  }

  has(lane: Lane): boolean {
    return this.#lanes.has(lane);
  }

  /** True when nothing but its present work ever ran in it at the same time. */
  isAlone(lane: Lane): boolean {
    return this.#lanes.get(lane)?.retires === false;
  }

  all(): Iterable<Lane> {
    return this.#lanes.keys();
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
  begin(dedicated: DedicatedLane): void {
    dedicated.base = dedicated.lane.process.memory();
  }

  /** The work of a process was answered. */
  free(lane: Lane): void {
    const dedicated = this.#lanes.get(lane);
    if (dedicated === undefined || lane.open.length > 0) return;
    // Some memory is never given back.
    if (dedicated.retires || lane.process.memory() > this.#growth) {
      this.remove(lane);
      lane.end();
    } else dedicated.idleSince = this.#context.clock.now();
  }

  remove(lane: Lane): void {
    this.#lanes.delete(lane);
  }

  /** Processes whose work should have ended, or begun. */
  overdue(now: number): Lane[] {
    return this.#lanesWhere(({ lane }) => {
      const [work] = lane.open;
      return work !== undefined && now > work.deadline + GRACE_MS;
    });
  }

  tooLarge(): Lane[] {
    return this.#lanesWhere(({ lane, base }) => lane.open.length > 0 && lane.process.memory() > base + this.#growth);
  }

  /** Ends processes that nobody needed for a while. */
  endIdle(now: number): void {
    const isUnused = ({ lane, idleSince }: DedicatedLane): boolean =>
      lane.open.length === 0 && now - Math.max(idleSince, lane.progress) > (lane.ready ? IDLE_MS : STARTING_MS);
    for (const lane of this.#lanesWhere(isUnused)) {
      this.remove(lane);
      lane.end();
    }
  }

  running(endpoint: Endpoint): number {
    return this.where(({ lane }) => lane.open[0]?.endpoint === endpoint && !lane.isWaiting).length;
  }

  busy(): DedicatedLane[] {
    return this.where(({ lane }) => lane.open.length > 0);
  }

  /** Processes of a place on the cores that have nothing to do, also those that are still coming up. */
  idling(priority: number): DedicatedLane[] {
    return this.where(
      (dedicated) => dedicated.lane.open.length === 0 && !dedicated.retires && dedicated.priority === priority,
    );
  }

  where(condition: (dedicated: DedicatedLane) => boolean): DedicatedLane[] {
    const found: DedicatedLane[] = [];
    for (const dedicated of this.#lanes.values()) if (condition(dedicated)) found.push(dedicated);
    return found;
  }

  #add(lane: Lane, priority: number, retires: boolean): DedicatedLane {
    lane.lowerPriority(priority);
    const dedicated = { lane, retires, priority, idleSince: this.#context.clock.now(), base: 0 };
    this.#lanes.set(lane, dedicated);
    return dedicated;
  }

  #lanesWhere(condition: (dedicated: DedicatedLane) => boolean): Lane[] {
    return this.where(condition).map(({ lane }) => lane);
  }
}
