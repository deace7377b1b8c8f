/** What becomes of work when its sandbox falls silent, grows too large, or ends under it. */
import { endedFromOutside, errorOf, memoryLimit } from './answers.ts';
import type { FastLanes } from './fast-lanes.ts';
import type { JsEndpoint } from './js-endpoint.ts';
import { byManners } from './lane.ts';
import type { Lane, Work } from './lane.ts';
import type { Quarantine } from './quarantine.ts';

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
  readonly #hands: Hands;
  #closed = false;

  constructor(fast: FastLanes, quarantine: Quarantine, hands: Hands) {
    this.#fast = fast;
    this.#quarantine = quarantine;
    this.#hands = hands;
  }

  /** From now on nothing is given out again. */
  close(): void {
    this.#closed = true;
  }

  /** Puts calls back to the head of their queue, each to run alone. */
  again(work: Work): void {
    for (const call of work.calls) call.attempts++;
    work.endpoint.queue.unshift(...work.calls);
    this.#hands.dispatch(work.endpoint);
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
      } else this.#quarantine.adopt(lane);
    }
    for (const work of rest.sort(byManners)) this.#reassign(work);
  }

  /** Gives out the work that waited for a process. */
  takeUp(): void {
    if (this.#closed) return;
    for (const work of this.#fast.stranded.splice(0).sort(byManners)) this.#reassign(work);
    this.#quarantine.pump();
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

  /** Ends a quarantined process and answers its call. */
  end(lane: Lane, why: 'timeout' | 'memory'): void {
    const work = lane.open.splice(0);
    this.#quarantine.remove(lane);
    lane.end();
    for (const each of work) {
      each.endpoint.inFlight--;
      each.endpoint.quarantine();
      each.endpoint.runsAway = true;
      for (const call of each.calls) call.reject(errorOf({ why, message: '' }, each.endpoint));
      each.loaded?.(why);
      this.#hands.next(lane, each.endpoint);
    }
  }

  /** A process ended by itself, or by somebody else; `work` is what it had not answered. */
  afterExit(lane: Lane, work: readonly Work[], reason: string): void {
    if (this.#closed) return;
    if (!lane.ready) return this.#afterFailedStart(lane, work, reason);
    this.#fast.replace(lane);
    this.#quarantine.remove(lane);
    const [guilty, ...rest] = work;
    if (guilty !== undefined) this.#afterCrash(guilty, reason);
    for (const each of rest.sort(byManners)) this.#reassign(each);
  }

  /** Calls that wait end by their limit where no sandbox comes up, and loads after some attempts. */
  #afterFailedStart(lane: Lane, work: readonly Work[], reason: string): void {
    this.#hands.warn({ reason }, 'a sandbox process cannot be started');
    this.#quarantine.remove(lane);
    this.#fast.stranded.push(...work);
    const isHopeless = this.#fast.failedStarts >= MOST_ATTEMPTS;
    for (const load of isHopeless ? this.#fast.strandedLoads() : []) {
      load.endpoint.inFlight--;
      load.loaded?.(`a sandbox process cannot be started: ${reason}`);
    }
    this.#fast.onFailedStart(lane, reason, () => this.takeUp());
  }

  /** A sandbox that ended under its work: out of memory, most likely, but it may have been ended from outside. */
  #afterCrash(work: Work, reason: string): void {
    const { endpoint } = work;
    endpoint.inFlight--;
    endpoint.quarantine();
    work.attempts++;
    this.#hands.warn({ endpoint: endpoint.id, reason }, 'a sandbox ended during a call');
    if (work.loaded !== undefined) {
      if (work.attempts >= MOST_ATTEMPTS) work.loaded('memory');
      else this.#hands.assign(work);
      return;
    }
    for (const call of work.calls) {
      call.attempts++;
      if (work.calledOut) call.reject(endedFromOutside());
      else if (call.attempts >= MOST_ATTEMPTS)
        call.reject(reason.startsWith('SIGKILL') ? endedFromOutside() : memoryLimit(endpoint));
      else endpoint.queue.unshift(call);
    }
    this.#hands.dispatch(endpoint);
  }
}
