/** The processes of the fast lane, and the spare that takes the place of one that is set aside. */
import { Lane } from './lane.ts';
import type { LaneEvents, Work } from './lane.ts';
import { isStuck } from './stuck.ts';

const LONGEST_PAUSE = 5000;
const FIRST_PAUSE = 100;
/** A process above this is replaced. */
const LARGE_BYTES = 1024 * 1024 * 1024;

export class FastLanes {
  readonly #events: LaneEvents;
  readonly #lanes: Lane[] = [];
  #spare: Lane | undefined;
  /** Work that waits for a process to come up. */
  readonly stranded: Work[] = [];
  /** Processes that ended before they were ready, in a row. */
  #failedStarts = 0;
  /** Why there is no sandbox, while that is so. */
  problem: string | undefined;

  constructor(events: LaneEvents, count: number) {
    this.#events = events;
    for (let i = 0; i < count; i++) this.#lanes.push(new Lane(events));
    this.#spare = new Lane(events);
  }

  get count(): number {
    return this.#lanes.length;
  }

  get idle(): boolean {
    return this.stranded.length === 0 && this.#lanes.every((lane) => lane.open.length === 0);
  }

  /** All processes, the spare included. */
  all(): Lane[] {
    return this.#spare === undefined ? [...this.#lanes] : [...this.#lanes, this.#spare];
  }

  /** Gives work to the process that has the least to do. */
  run(work: Work): void {
    let best: Lane | undefined;
    for (const lane of this.#lanes) {
      if (lane.ready && lane.process.alive && (best === undefined || lane.open.length < best.open.length)) best = lane;
    }
    if (best === undefined) this.stranded.push(work);
    else best.run(work, false);
  }

  /** Puts the spare in the place of a process that leaves. */
  replace(lane: Lane): void {
    if (lane === this.#spare) this.#spare = undefined;
    const at = this.#lanes.indexOf(lane);
    if (at < 0) return;
    this.#lanes[at] = this.#spare ?? new Lane(this.#events);
    this.#spare = new Lane(this.#events);
  }

  stuck(now: number): Lane[] {
    return this.#lanes.filter((lane) => lane.ready && lane.open.length > 0 && isStuck(lane, now));
  }

  tooLarge(): Lane[] {
    return this.#lanes.filter((lane) => lane.process.memory() > LARGE_BYTES);
  }

  onReady(): void {
    this.#failedStarts = 0;
    this.problem = undefined;
  }

  /** A process could not be started; `again` is called after a pause, when the next one has been tried. */
  onFailedStart(lane: Lane, reason: string, again: () => void): void {
    this.#failedStarts++;
    this.problem = `a sandbox process cannot be started: ${reason}`;
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.#failedStarts);
    setTimeout(() => {
      this.replace(lane);
      again();
    }, pause).unref();
  }
}
