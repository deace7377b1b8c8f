/**
 * The processes of the fast lane, and the spare that takes the place of one that is set aside. Code that nobody knows
 * yet runs only while the spare is ready, and what has a good record overtakes a silent process there: so that it
 * never waits until a process has been started.
 */
import type { Endpoint } from './endpoint.ts';
import { Lane } from './lane.ts';
import type { LaneContext } from './lane.ts';
import { bytesAllowed, isStuck, mayWaitForSpare } from './policy.ts';

export class FastLanes {
  readonly #context: LaneContext;
  readonly #lanes: Lane[] = [];
  #spare: Lane;
  /** Loads code at activation, so that no call stands behind it; there only while it is needed. */
  #loader: Lane | undefined;

  constructor(context: LaneContext, count: number) {
    this.#context = context;
    for (let i = 0; i < count; i++) this.#lanes.push(new Lane(context));
    this.#spare = new Lane(context);
  }

  get count(): number {
    return this.#lanes.length;
  }

  get isIdle(): boolean {
    return this.#loader === undefined && this.all().every((lane) => lane.open.length === 0);
  }

  /** All processes, the spare included. */
  all(): Lane[] {
    return [...this.#lanes, this.#spare, ...(this.#loader === undefined ? [] : [this.#loader])];
  }

  /** The process that loads code, if it runs. */
  forLoad(): Lane | undefined {
    this.#loader ??= new Lane(this.#context);
    return this.#loader.process.alive ? this.#loader : undefined;
  }

  /** The process that has the least to do, if one may take the next calls of an endpoint. */
  forCalls(endpoint: Endpoint): Lane | undefined {
    const { clock, policy } = this.#context;
    const spare = this.#spare.ready && this.#spare.process.alive ? this.#spare : undefined;
    const { isKnown } = endpoint;
    if (!isKnown && spare === undefined) {
      const left = (endpoint.queue[0]?.beginBy ?? 0) - clock.now();
      if (mayWaitForSpare(left, endpoint.limit, policy)) return undefined;
    }
    let best: Lane | undefined;
    for (const lane of this.#lanes) {
      if (this.#isFree(lane) && (best === undefined || lane.open.length < best.open.length)) best = lane;
    }
    const overtakes =
      isKnown && (best === undefined || (best.open.length > 0 && clock.now() - best.progress > policy.overtakenMs));
    return overtakes && spare !== undefined && this.#isFree(spare) ? spare : best;
  }

  /** Puts the spare in the place of a process that leaves. */
  replace(lane: Lane): void {
    if (lane === this.#loader) this.#loader = undefined;
    const at = this.#lanes.indexOf(lane);
    if (at < 0 && lane !== this.#spare) return;
    if (at >= 0) this.#lanes[at] = this.#spare;
    this.#spare = new Lane(this.#context);
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
    const { startingMs, loaderIdleMs } = this.#context.policy;
    for (const lane of this.all()) if (!lane.ready && now - lane.startedAt > startingMs) lane.process.kill();
    const loader = this.#loader;
    if (loader === undefined || loader.open.length > 0 || now - loader.progress < loaderIdleMs) return;
    this.#loader = undefined;
    loader.end();
  }

  tooLarge(now: number): Lane[] {
    return this.all().filter((lane) => {
      const unusedForMs = lane.open.length === 0 ? now - lane.progress : 0;
      return lane.process.memory() > bytesAllowed(unusedForMs, lane.isolates, this.#context.policy);
    });
  }

  #isFree(lane: Lane): boolean {
    return lane.ready && lane.process.alive && lane.backlog < this.#context.policy.backlogMicroseconds;
  }
}
