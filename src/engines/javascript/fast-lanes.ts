/**
 * The processes of the fast lane, and the spare that takes the place of one that is set aside. Code that nobody knows
 * yet runs only while the spare is ready, and what has shown its manners overtakes a silent process there: so that it
 * never waits until a process has been started.
 */
import { Lane } from './lane.ts';
import type { LaneEvents, Work } from './lane.ts';
import { isStuck } from './stuck.ts';
import { uptime } from '../../lib/uptime.ts';

const LONGEST_PAUSE = 5000;
const FIRST_PAUSE = 100;
/** A process above this is replaced. */
const LARGE_BYTES = 1024 * 1024 * 1024;
/** … and one that nobody used for so many milliseconds where it has more than this, … */
const UNUSED = 3000;
const UNUSED_BYTES = 192 * 1024 * 1024;
/** … and than its isolates need: code keeps memory, and garbage that nobody collects. */
const ISOLATE_BYTES = 4 * 1024 * 1024;
/** Milliseconds of silence after which a process is overtaken. */
const OVERTAKEN = 30;
const LOADER_IDLE = 2000;
/** Microseconds of work that stand in a process at most; the rest waits where it can be put in order, and ends at its limit. */
const BACKLOG = 50_000;

export class FastLanes {
  readonly #events: LaneEvents;
  readonly #lanes: Lane[] = [];
  #spare: Lane;
  /** Loads code at activation, so that no call stands behind it; there only while it is needed. */
  #loader: Lane | undefined;
  /** Work that waits for a process to come up. */
  readonly stranded: Work[] = [];
  /** Processes that ended before they were ready, in a row. */
  failedStarts = 0;
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
    return (
      this.stranded.length === 0 && this.#loader === undefined && this.all().every((lane) => lane.open.length === 0)
    );
  }

  /** All processes, the spare included. */
  all(): Lane[] {
    return [...this.#lanes, this.#spare, ...(this.#loader === undefined ? [] : [this.#loader])];
  }

  /** Gives work to the process that has the least to do, if one may take it. */
  run(work: Work): void {
    const lane = this.#laneFor(work);
    if (lane === undefined) this.stranded.push(work);
    else lane.run(work, false);
  }

  #laneFor(work: Work): Lane | undefined {
    if (work.loaded !== undefined) {
      this.#loader ??= new Lane(this.#events);
      return this.#loader.process.alive ? this.#loader : undefined;
    }
    const spare = this.#spare.ready && this.#spare.process.alive ? this.#spare : undefined;
    const { isKnown } = work.endpoint;
    if (!isKnown && spare === undefined && hasTime(work)) return undefined;
    let best: Lane | undefined;
    for (const lane of this.#lanes) {
      if (isFree(lane) && (best === undefined || lane.open.length < best.open.length)) best = lane;
    }
    const overtakes = isKnown && (best === undefined || (best.open.length > 0 && uptime() - best.progress > OVERTAKEN));
    return overtakes && spare !== undefined && isFree(spare) ? spare : best;
  }

  /** Puts the spare in the place of a process that leaves. */
  replace(lane: Lane): void {
    if (lane === this.#loader) this.#loader = undefined;
    const at = this.#lanes.indexOf(lane);
    if (at < 0 && lane !== this.#spare) return;
    if (at >= 0) this.#lanes[at] = this.#spare;
    this.#spare = new Lane(this.#events);
  }

  stuck(now: number): Lane[] {
    return this.all().filter((lane) => lane.ready && lane.open.length > 0 && isStuck(lane, now));
  }

  /** Ends the process that loads code when there is nothing to load any more. */
  endIdleLoader(now: number): void {
    const loader = this.#loader;
    if (loader === undefined || loader.open.length > 0 || now - loader.progress < LOADER_IDLE) return;
    this.#loader = undefined;
    loader.end();
  }

  tooLarge(now: number): Lane[] {
    return this.all().filter((lane) => lane.process.memory() > bytesFor(lane, now));
  }

  /** Takes away the loads that wait for a process. */
  strandedLoads(): Work[] {
    const loads = this.stranded.filter((work) => work.loaded !== undefined);
    this.stranded.push(...this.stranded.splice(0).filter((work) => work.loaded === undefined));
    return loads;
  }

  onReady(): void {
    this.failedStarts = 0;
    this.problem = undefined;
  }

  /** A process could not be started; `again` is called after a pause, when the next one has been tried. */
  onFailedStart(lane: Lane, reason: string, again: () => void): void {
    this.failedStarts++;
    this.problem = `a sandbox process cannot be started: ${reason}`;
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.failedStarts);
    setTimeout(() => {
      this.replace(lane);
      again();
    }, pause).unref();
  }
}

const bytesFor = (lane: Lane, now: number): number =>
  lane.open.length === 0 && now - lane.progress > UNUSED ? UNUSED_BYTES + lane.isolates * ISOLATE_BYTES : LARGE_BYTES;

const isFree = (lane: Lane): boolean => lane.ready && lane.process.alive && lane.backlog < BACKLOG;

/** True for calls that may wait for the spare: most of their time is left. */
const hasTime = ({ calls: [first], endpoint }: Work): boolean =>
  first !== undefined && first.patience - uptime() > endpoint.limit * 0.75;
