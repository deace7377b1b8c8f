/** What becomes of work when its sandbox falls silent, grows too large, or ends under it. */
import { endedByCode, endedFromOutside, errorOf, isOutOfMemory, noTurn } from './answers.ts';
import type { Cells } from './cells.ts';
import type { FastLanes } from './fast-lanes.ts';
import { interrupt } from './js-endpoint.ts';
import type { JsEndpoint } from './js-endpoint.ts';
import { byManners } from './lane.ts';
import type { Lane, Work } from './lane.ts';
import type { LargeBodies } from './large-bodies.ts';
import type { Quarantine } from './quarantine.ts';
import { isStarved } from './stuck.ts';
import { uptime } from '../../lib/uptime.ts';

/** How work is given out, which the scheduler does. */
export interface Hands {
  assign(work: Work): void;
  /** Gives out the calls that wait for an endpoint. */
  dispatch(endpoint: JsEndpoint): void;
  /** What a lane and an endpoint do after an answer. */
  next(lane: Lane, endpoint: JsEndpoint): void;
  warn(facts: Record<string, unknown>, message: string): void;
}

const MOST_ATTEMPTS = 3;

export class Recovery {
  readonly #fast: FastLanes;
  readonly #quarantine: Quarantine;
  readonly #large: LargeBodies;
  readonly #hands: Hands;
  #closed = false;

  constructor(fast: FastLanes, quarantine: Quarantine, large: LargeBodies, hands: Hands) {
    this.#fast = fast;
    this.#quarantine = quarantine;
    this.#large = large;
    this.#hands = hands;
  }

  /** The processes among which one is that does one work at a time; none for those of the fast lane. */
  cellsWith(lane: Lane): Cells | undefined {
    return [this.#quarantine.cells, ...this.#large.cells].find((cells) => cells.has(lane));
  }

  /** From now on nothing is given out again. */
  close(): void {
    this.#closed = true;
  }

  /** Puts calls back to the head of their queue, each to run alone. */
  again({ endpoint, calls, isLarge }: Work): void {
    const now = uptime();
    for (const call of calls) interrupt(call, endpoint, now);
    if (isLarge) for (const call of calls) this.#large.add(endpoint, call);
    else {
      endpoint.queue.unshift(...calls);
      this.#hands.dispatch(endpoint);
    }
  }

  /** A silent process leaves the fast lane with the work that it is at. */
  setAside(lane: Lane): void {
    const [guilty] = lane.open;
    const rest = lane.takeRest();
    this.#fast.replace(lane);
    if (guilty !== undefined) {
      guilty.endpoint.quarantine();
      if (guilty.calls.length > 1) {
        lane.open = [];
        guilty.endpoint.inFlight--;
        lane.end();
        this.again(guilty);
      } else {
        if (isStarved(lane)) lane.startClock(guilty);
        this.#quarantine.adopt(lane);
      }
    }
    for (const work of rest.sort(byManners)) this.#reassign(work);
  }

  /** Gives out the work that waited for a process. */
  takeUp(): void {
    if (this.#closed) return;
    for (const work of this.#fast.stranded.splice(0).sort(byManners)) this.#reassign(work);
    this.#quarantine.pump();
    this.#large.pump();
  }

  /** A process that has grown large leaves with the batch that it is at. */
  recycle(lane: Lane): void {
    const rest = lane.takeRest();
    this.#fast.replace(lane);
    if (lane.open.length === 0) lane.end();
    else this.#quarantine.adopt(lane);
    for (const work of rest) this.#reassign(work);
  }

  #reassign(work: Work): void {
    work.endpoint.inFlight--;
    if (work.loaded === undefined && work.calls.length === 0) return;
    if (work.loaded === undefined && work.endpoint.quarantined) {
      work.endpoint.queue.unshift(...work.calls);
      this.#hands.dispatch(work.endpoint);
    } else this.#hands.assign(work);
  }

  /** Ends a process that does one work at a time, and answers its call. */
  end(lane: Lane, why: 'timeout' | 'memory'): void {
    const work = lane.open.splice(0);
    this.cellsWith(lane)?.remove(lane);
    lane.end();
    for (const each of work) {
      if (each.hasBegun || why === 'memory') this.#answerEnded(each, why);
      else this.#answerWithoutTurn(each);
      this.#hands.next(lane, each.endpoint);
    }
  }

  #answerEnded(work: Work, why: 'timeout' | 'memory'): void {
    const { calls } = work;
    settle(work);
    blame(work, why === 'memory' || !work.isCurtailed);
    for (const call of calls) call.reject(errorOf({ why, message: '' }, work));
    work.loaded?.(why);
  }

  /** Its process never came to a core. */
  #answerWithoutTurn(work: Work): void {
    settle(work);
    for (const call of work.calls) call.reject(noTurn(work.endpoint, call));
    if (work.loaded !== undefined) this.#loadAgain(work, 'no sandbox came to run it');
  }

  #loadAgain(work: Work, problem: string): void {
    work.attempts++;
    if (work.attempts >= MOST_ATTEMPTS) work.loaded?.(problem);
    else this.#hands.assign(work);
  }

  /** A process ended by itself, or by somebody else; `work` is what it had not answered. */
  afterExit(lane: Lane, work: readonly Work[], reason: string): void {
    if (this.#closed) return;
    if (!lane.ready) return this.#afterFailedStart(lane, work, reason);
    const cells = this.cellsWith(lane);
    const wasAlone = cells?.isAlone(lane) === true;
    cells?.remove(lane);
    this.#fast.replace(lane);
    const [guilty, ...rest] = work;
    if (guilty === undefined) this.#hands.warn({ reason }, 'a sandbox ended');
    else this.#afterCrash(guilty, reason, wasAlone);
    for (const each of rest.sort(byManners)) this.#reassign(each);
  }

  /** Calls that wait end by their limit where no sandbox comes up, and loads after some attempts. */
  #afterFailedStart(lane: Lane, work: readonly Work[], reason: string): void {
    this.#hands.warn({ reason }, 'a sandbox process cannot be started');
    this.cellsWith(lane)?.remove(lane);
    this.#fast.stranded.push(...work);
    const isHopeless = this.#fast.failedStarts >= MOST_ATTEMPTS;
    for (const load of isHopeless ? this.#fast.strandedLoads() : []) {
      load.endpoint.inFlight--;
      load.loaded?.(`a sandbox process cannot be started: ${reason}`);
    }
    this.#fast.onFailedStart(lane, reason, () => this.takeUp());
  }

  /** A sandbox that ended under its work: by what the code did, or from outside. Work that was not alone in it is tried alone. */
  #afterCrash(work: Work, reason: string, wasAlone: boolean): void {
    const { endpoint, calls } = work;
    this.#hands.warn({ endpoint: endpoint.id, reason }, 'a sandbox ended during a call');
    blame(work, endpoint.runsAway);
    const isFromOutside = reason.startsWith('SIGKILL');
    if (work.loaded !== undefined) {
      settle(work);
      this.#loadAgain(work, endedLoading(reason));
      return;
    }
    const attempts = calls[0]?.attempts ?? 0;
    if (work.calledOut || attempts + 1 >= MOST_ATTEMPTS || (wasAlone && !isFromOutside)) {
      settle(work);
      for (const call of calls) call.reject(isFromOutside ? endedFromOutside() : endedByCode(endpoint, reason));
      this.#hands.dispatch(endpoint);
    } else {
      if (!work.isLarge) endpoint.inFlight--;
      this.again(work);
    }
  }
}

/** Its calls have been answered, or will be. */
export function settle({ endpoint, calls, isLarge }: Work): void {
  if (isLarge) endpoint.large -= calls.length;
  else endpoint.inFlight--;
}

/** An endpoint has to show its manners anew; what a large body did is not its fault. */
export function blame({ endpoint, isLarge }: Work, runsAway: boolean): void {
  if (isLarge) return;
  endpoint.quarantine();
  endpoint.runsAway = runsAway;
}

const endedLoading = (reason: string): string =>
  isOutOfMemory(reason) ? 'memory' : `the sandbox process ended while the code was loaded (${reason})`;
