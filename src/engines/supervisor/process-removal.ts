/** What becomes of a process that leaves its lane, and of its work: it ended, fell silent, has grown or passed a limit. */
import { KILLED_FOR_MEMORY } from './memory-kills.ts';
import { whyNotStarted } from '../../confinement/launch.ts';
import { endedLoading, errorOf, isFromOutside, noTurn, sandboxEnded } from './answers.ts';
import type { Endpoint } from './endpoint.ts';
import type { Lane } from './lane.ts';
import type { LaneContext } from './lane-context.ts';
import type { Lanes } from './lanes.ts';
import { afterCrash, isStarved, MOST_ATTEMPTS } from './policy.ts';
import type { WaitingWork } from './waiting-work.ts';
import type { SchedulerOptions } from './scheduler.ts';
import type { Tally } from '../../lib/tally.ts';
import type { Work } from './work.ts';

/** Why a process leaves: it ended, could not be started, was silent, has grown, or its call passed a limit. */
export const REMOVALS = ['ended', 'start-failed', 'silent', 'grown', 'timeout', 'memory'] as const;
export type Removal = (typeof REMOVALS)[number];

export class ProcessRemoval {
  readonly #context: LaneContext;
  readonly #lanes: Lanes;
  readonly #waiting: WaitingWork;
  readonly #warn: SchedulerOptions['warn'];
  readonly #counts: Tally<Removal> | undefined;

  constructor(
    context: LaneContext,
    lanes: Lanes,
    waiting: WaitingWork,
    { warn, removals }: Pick<SchedulerOptions, 'warn' | 'removals'>,
  ) {
    this.#context = context;
    this.#lanes = lanes;
    this.#waiting = waiting;
    this.#warn = warn;
    this.#counts = removals;
  }

  /** A process ended by itself, or by somebody else; `works` is what it had not answered. Gives the endpoint at fault. */
  onExit(lane: Lane, works: readonly Work[], reason: string): Endpoint | undefined {
    if (!lane.ready) {
      this.#onFailedStart(lane, works, reason);
      return undefined;
    }
    this.#counts?.add(reason.includes(KILLED_FOR_MEMORY) ? 'memory' : 'ended');
    const lanes = this.#lanes.dedicatedWith(lane);
    const wasAlone = lanes?.isAlone(lane) === true;
    lanes?.remove(lane);
    this.#lanes.fast.replace(lane);
    const [atFault, ...rest] = works;
    if (atFault === undefined) this.#warn({ reason }, 'a sandbox ended');
    else this.#onCrash(atFault, reason, wasAlone);
    this.#waiting.takeBack(rest);
    this.#waiting.giveOut();
    return atFault?.endpoint;
  }

  #onCrash(work: Work, reason: string, wasAlone: boolean): void {
    const { endpoint, calls, calledOut } = work;
    this.#warn({ endpoint: endpoint.id, reason }, 'a sandbox ended during a call');
    // Records come in thousands: one by one, as in the quarantine, they would hardly come on between two such ends.
    if (!isFromOutside(reason) || calls[0]?.records === undefined) work.blame(endpoint.timedOut);
    const attempts = calls[0]?.attempts ?? 0;
    const crash = { isLoad: work.kind === 'load', attempts, calledOut, wasAlone, isFromOutside: isFromOutside(reason) };
    const next = afterCrash(crash);
    if (next === 'load again') this.#loadAgain(work, endedLoading(reason));
    else if (next === 'requeue') this.#waiting.tryAlone(work);
    else work.fail(() => sandboxEnded(endpoint, reason));
    this.#waiting.offer(endpoint);
  }

  /** Calls that wait end by their limit where no sandbox comes up, and loads after some attempts. */
  #onFailedStart(lane: Lane, works: readonly Work[], how: string): void {
    const reason = whyNotStarted(how);
    this.#counts?.add('start-failed');
    this.#warn({ reason }, 'a sandbox process cannot be started');
    this.#lanes.dedicatedWith(lane)?.remove(lane);
    this.#waiting.takeBack(works);
    const pause = this.#context.starts.onFailed(reason);
    if (this.#context.starts.areHopeless) {
      for (const load of this.#waiting.takeLoads()) load.endLoad(`a sandbox process cannot be started: ${reason}`);
    }
    this.#context.clock.after(pause, () => {
      if (this.#waiting.isClosed) return;
      this.#lanes.fast.replace(lane);
      this.#waiting.giveOut();
    });
  }

  #loadAgain(work: Work, problem: string): void {
    if (work.attempts + 1 >= MOST_ATTEMPTS) return work.endLoad(problem);
    work.waitAgain(true);
    this.#waiting.addLoad(work);
  }

  /** A silent process leaves the fast lane with the work that it is at. */
  setAside(lane: Lane): void {
    this.#counts?.add('silent');
    const [atFault] = lane.open;
    const rest = lane.takeRest();
    this.#lanes.fast.replace(lane);
    if (atFault !== undefined) {
      atFault.endpoint.quarantine();
      if (atFault.size > 1) {
        lane.open.length = 0;
        lane.end();
        this.#waiting.tryAlone(atFault);
      } else {
        // Nobody knows whether its code had begun. Without this a call that gets no core for its limit is told that it took too long.
        if (lane.isSuspected && isStarved(lane.suspect(), this.#context.policy))
          atFault.begin(this.#context.clock.now());
        this.#lanes.quarantine.adopt(lane);
      }
    }
    this.#waiting.takeBack(rest);
  }

  /** A process that has grown large leaves with the batch that it is at. */
  recycle(lane: Lane): void {
    this.#counts?.add('grown');
    const rest = lane.takeRest();
    this.#lanes.fast.replace(lane);
    if (lane.open.length === 0) lane.end();
    else this.#lanes.quarantine.adopt(lane);
    this.#waiting.takeBack(rest);
  }

  /** Ends a process that does one work at a time, and answers its call. Gives the endpoint. */
  end(lane: Lane, why: 'timeout' | 'memory'): Endpoint | undefined {
    this.#counts?.add(why);
    const [work] = lane.open.splice(0);
    this.#lanes.dedicatedWith(lane)?.remove(lane);
    lane.end();
    if (work === undefined) return undefined;
    const { endpoint, kind } = work;
    if (work.hasBegun || why === 'memory') {
      work.blame(why === 'memory' || !work.isShortened);
      if (kind === 'load') work.endLoad(why);
      else work.fail(() => errorOf({ kind: why, description: '' }, work));
    } else if (kind === 'load') this.#loadAgain(work, 'no sandbox came to run it');
    else work.fail((call) => noTurn(endpoint, call));
    this.#waiting.offer(endpoint);
    return endpoint;
  }
}
