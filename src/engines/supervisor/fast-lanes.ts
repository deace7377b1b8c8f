/**
 * The processes of the fast lane, and the spare that takes the place of one that is set aside, so that nothing waits until a
 * process has been started. After a while without work there is no spare.
 */
import { Lane } from './lane.ts';
import { STARTING_MS } from './dedicated-lanes.ts';
import type { LaneContext } from './lane-context.ts';
import { bytesAllowed, isStuck } from './policy.ts';

/** The process that loads is ended where nothing is to be loaded for so long. */
const LOADER_IDLE_MS = 2000;

export class FastLanes {
  readonly count: number;
  readonly #context: LaneContext;
  /** None until there is code to run. */
  readonly #lanes: Lane[] = [];
  #spare: Lane | undefined;
  #rests = 0;
  /** Loads code at activation, so that no call stands behind it; there only while it is needed. */
  #loader: Lane | undefined;

  constructor(context: LaneContext, count: number) {
    this.#context = context;
    this.count = count;
  }

  /** Starts the processes for calls, where there are none yet. */
  prepare(): void {
    while (this.#lanes.length < this.count) this.#lanes.push(this.#start());
  }

  /** There is work. */
  wake(): void {
    this.#rests++;
    if (!this.#context.policy.hasHelpers) return;
    this.prepare();
    this.#spare ??= this.#start();
  }

  /** There is none any more: unless it comes again soon, the spare goes. */
  rest(): void {
    const { clock, policy } = this.#context;
    const rest = ++this.#rests;
    clock.after(policy.spareIdleMs, () => {
      if (rest !== this.#rests) return;
      this.#spare?.end();
      this.#spare = undefined;
      if (policy.keepsProcesses) return;
      for (const lane of this.#lanes.splice(0)) lane.end();
    });
  }

  get isIdle(): boolean {
    return this.#loader === undefined && this.all().every((lane) => lane.open.length === 0);
  }

  /** All processes, the spare included. */
  all(): Lane[] {
    return [...this.#lanes, this.#spare, this.#loader].filter((lane) => lane !== undefined);
  }

  /** The process that loads code, if it runs. */
  forLoad(): Lane | undefined {
    if (!this.#context.policy.hasHelpers) {
      this.prepare();
      return this.#lanes.find((lane) => this.#isFree(lane));
    }
    this.#loader ??= this.#start();
    return this.#loader.process.alive ? this.#loader : undefined;
  }

  /** The process that has the least to do, if one may take calls. */
  forCalls(): Lane | undefined {
    if (!this.#context.policy.hasHelpers) this.prepare();
    let best: Lane | undefined;
    for (const lane of this.#lanes) {
      if (this.#isFree(lane) && (best === undefined || lane.open.length < best.open.length)) best = lane;
    }
    return best;
  }

  /** Puts the spare in the place of a process that leaves; where there is none, the next work starts another. */
  replace(lane: Lane): void {
    if (lane === this.#loader) this.#loader = undefined;
    const at = this.#lanes.indexOf(lane);
    if (at < 0 && lane !== this.#spare) return;
    if (!this.#context.policy.hasHelpers) return void this.#lanes.splice(at, 1);
    const hasSpare = this.#spare !== undefined;
    if (at >= 0) this.#lanes[at] = this.#spare ?? this.#start();
    this.#spare = hasSpare ? this.#start() : undefined;
  }

  /** Those that have been silent for too long. */
  stuck(now: number): Lane[] {
    const { policy } = this.#context;
    return this.all().filter((lane) => {
      if (!lane.ready || lane.open.length === 0) return false;
      const silentMs = now - lane.progress;
      if (silentMs >= policy.silentMs)
        return isStuck({ silentMs, workMs: lane.suspect(), holdsUpCalls: lane.holdsUpCalls }, policy);
      lane.clearOfSuspicion();
      return false;
    });
  }

  /** Ends those that never come up, of which one hears as of starts that failed, and the process that loads when there is nothing to load. */
  endUseless(now: number): void {
    for (const lane of this.all()) if (!lane.ready && now - lane.startedAt > STARTING_MS) lane.process.kill();
    const loader = this.#loader;
    if (loader === undefined || loader.open.length > 0 || now - loader.progress < LOADER_IDLE_MS) return;
    this.#loader = undefined;
    loader.end();
  }

  tooLarge(now: number): Lane[] {
    return this.all().filter((lane) => {
      const unusedForMs = lane.open.length === 0 ? now - lane.progress : 0;
      return lane.process.memory() > bytesAllowed(unusedForMs, lane.isolates, this.#context.policy);
    });
  }

  #start(): Lane {
    const lane = new Lane(this.#context);
    lane.lowerPriority(this.#context.policy.fastPriority);
    return lane;
  }

  #isFree(lane: Lane): boolean {
    return lane.ready && lane.process.alive && lane.backlog < this.#context.policy.backlogMicroseconds;
  }
}
