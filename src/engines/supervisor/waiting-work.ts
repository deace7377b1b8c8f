/** Work that no process has, and the one place from which it is given to processes or back to which it comes. */
import type { Clock } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import type { FastLanes } from './fast-lanes.ts';
import type { Lane } from './lane.ts';
import type { Lanes } from './lanes.ts';
import type { LargeBodies } from './large-bodies.ts';
import { byTrackRecord } from './policy.ts';
import type { Policy } from './policy.ts';
import type { Quarantine } from './quarantine.ts';
import { Work } from './work.ts';
import type { PendingCall } from './pending-call.ts';

/** Batches of one endpoint on their way to each process of the fast lane: the next is there when one is answered. */
const BATCHES_IN_FLIGHT = 2;

export class WaitingWork {
  readonly #fast: FastLanes;
  readonly #quarantine: Quarantine;
  readonly #large: LargeBodies;
  readonly #clock: Clock;
  readonly #policy: Policy;
  /** Endpoints with calls that came in this turn of the event loop. */
  readonly #due = new Set<Endpoint>();
  /** Endpoints whose next call found no process of the fast lane. */
  readonly #pending = new Set<Endpoint>();
  /** Loads that wait for a process of the fast lane. */
  readonly #loads: Work[] = [];
  #isFlushing = false;
  #isClosed = false;

  constructor({ fast, quarantine, large }: Lanes, clock: Clock, policy: Policy) {
    this.#fast = fast;
    this.#quarantine = quarantine;
    this.#large = large;
    this.#clock = clock;
    this.#policy = policy;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  addLoad(work: Work): void {
    this.#loads.push(work);
  }

  /** Calls that are there run together with those that come in the same turn of the event loop. */
  add(endpoint: Endpoint, call: PendingCall): void {
    if (call.records === undefined && call.input.length > this.#policy.largeCharacters) {
      this.#large.add(endpoint, call);
      this.#giveOutLarge();
      return;
    }
    endpoint.queue.push(call);
    this.#due.add(endpoint);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#clock.soon(() => this.#flush());
  }

  /** Gives out all that may begin now. */
  giveOut(): void {
    if (this.#isClosed) return;
    for (const work of this.#loads.splice(0)) {
      const lane = work.endpoint.quarantined ? undefined : this.#fast.forLoad();
      if (work.endpoint.quarantined) this.#quarantine.offerLoad(work);
      else if (lane === undefined) this.#loads.push(work);
      else this.#send(lane, work, false);
    }
    if (this.#pending.size > 0)
      for (const endpoint of [...this.#pending].sort(byTrackRecord(this.#policy))) this.#dispatch(endpoint);
    this.#giveOutQuarantined();
    this.#giveOutLarge();
  }

  /** What begins after an answer: with nothing else that waits, the next calls of the same endpoint. */
  giveOutAfter(endpoint: Endpoint, wasInFastLane: boolean): void {
    this.#pending.delete(endpoint);
    const isAlone = wasInFastLane && this.#loads.length === 0 && this.#pending.size === 0;
    this.offer(endpoint, isAlone);
    if (!isAlone || endpoint.quarantined) this.giveOut();
  }

  /** Calls wait in the queue of an endpoint. */
  offer(endpoint: Endpoint, atOnce = false): void {
    if (endpoint.queue.length === 0) return;
    if (atOnce) this.#dispatch(endpoint);
    else this.#pending.add(endpoint);
  }

  /** What had not begun goes back to the head of its queue. */
  takeBack(works: readonly Work[]): void {
    for (const work of [...works].reverse()) {
      if (work.kind === 'load') {
        work.waitAgain(false);
        this.#loads.push(work);
      } else {
        work.endpoint.queue.unshift(...work.requeue());
        this.#pending.add(work.endpoint);
      }
    }
  }

  /** Calls that had begun go back, each to run alone. */
  tryAlone(work: Work): void {
    const { endpoint, kind } = work;
    const calls = work.requeue(this.#clock.now()).flatMap(apart);
    if (kind === 'large') for (const call of calls) this.#large.add(endpoint, call);
    else {
      endpoint.queue.unshift(...calls);
      this.#pending.add(endpoint);
    }
  }

  /** Takes away the loads that wait. */
  takeLoads(): Work[] {
    return [...this.#loads.splice(0), ...this.#quarantine.takeLoads()];
  }

  /** From now on nothing is given out. */
  close(): void {
    this.#isClosed = true;
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#isClosed) return;
    for (const each of this.#due) this.#dispatch(each);
    this.#due.clear();
    this.#giveOutQuarantined();
  }

  #giveOutQuarantined(): void {
    const { lanes } = this.#quarantine;
    for (let next = this.#quarantine.nextLoad(); next !== undefined; next = this.#quarantine.nextLoad()) {
      lanes.begin(next.dedicated);
      this.#send(next.dedicated.lane, next.work, true);
    }
    for (let next = this.#quarantine.nextCall(); next !== undefined; next = this.#quarantine.nextCall()) {
      lanes.begin(next.dedicated);
      const { endpoint } = next;
      this.#send(next.dedicated.lane, Work.ofCalls(endpoint, endpoint.take(true, this.#clock.now())), true);
    }
  }

  #giveOutLarge(): void {
    for (let next = this.#large.next(); next !== undefined; next = this.#large.next()) {
      next.lanes.begin(next.dedicated);
      this.#send(next.dedicated.lane, Work.ofCalls(next.endpoint, [next.call], 'large'), true);
    }
  }

  /** Gives the calls that wait to processes of the fast lane, or to the quarantine, which gives them out next. */
  #dispatch(endpoint: Endpoint): void {
    this.#pending.delete(endpoint);
    if (endpoint.quarantined) return this.#quarantine.offer(endpoint);
    const most = BATCHES_IN_FLIGHT * this.#fast.count;
    while (endpoint.counts.inFlight < most && endpoint.hasCalls()) {
      const lane = this.#fast.forCalls();
      if (lane === undefined) return void this.#pending.add(endpoint);
      this.#send(lane, Work.ofCalls(endpoint, endpoint.take(false, this.#clock.now())), false);
    }
  }

  #send(lane: Lane, work: Work, guard: boolean): void {
    work.send();
    lane.run(work, guard);
  }
}

/** Each record of a call that has several as a call of its own. */
function apart(call: PendingCall): PendingCall[] {
  const all: PendingCall[] = [];
  for (let left: PendingCall | undefined = call; left !== undefined;) {
    const [one, others]: PendingCall[] = left.divide(1);
    if (one !== undefined) all.push(one);
    left = others;
  }
  return all;
}
