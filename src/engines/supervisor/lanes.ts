/** All processes of a scheduler. */
import type { DedicatedLanes } from './dedicated-lanes.ts';
import { FastLanes } from './fast-lanes.ts';
import type { Lane } from './lane.ts';
import type { LaneContext } from './lane-context.ts';
import { LargeBodies } from './large-bodies.ts';
import { Quarantine } from './quarantine.ts';

export class Lanes {
  readonly fast: FastLanes;
  readonly quarantine: Quarantine;
  readonly large: LargeBodies;
  /** Processes that do one work at a time. */
  readonly dedicated: readonly DedicatedLanes[];

  /** `count`: processes of the fast lane. */
  constructor(context: LaneContext, count: number, memoryMb: number) {
    this.quarantine = new Quarantine(context, memoryMb);
    this.fast = new FastLanes(context, count);
    this.large = new LargeBodies(context, memoryMb);
    this.dedicated = [this.quarantine.lanes, ...this.large.lanes];
  }

  get isIdle(): boolean {
    return this.fast.isIdle && this.dedicated.every((lanes) => lanes.size === 0);
  }

  all(): Lane[] {
    return [...this.fast.all(), ...this.dedicated.flatMap((lanes) => [...lanes.all()])];
  }

  /** Undefined for a process of the fast lane. */
  dedicatedWith(lane: Lane): DedicatedLanes | undefined {
    return this.dedicated.find((lanes) => lanes.has(lane));
  }

  /** Dedicated processes whose work should have ended, or begun. */
  overdue(now: number): Lane[] {
    return this.dedicated.flatMap((lanes) => lanes.overdue(now));
  }

  /** Dedicated processes that have grown too large under their work. */
  tooLarge(): Lane[] {
    return this.dedicated.flatMap((lanes) => lanes.tooLarge());
  }

  /** Ends what nobody needs. */
  endUseless(now: number): void {
    this.fast.endUseless(now);
    for (const lanes of this.dedicated) lanes.endIdle(now);
  }
}
