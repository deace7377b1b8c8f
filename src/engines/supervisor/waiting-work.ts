/** Work that no process has, and the one place from which it is given to processes or back to which it comes. */
import { loadPassedLimit } from './call-failure.ts';
import type { Clock } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import type { LargeBodies, Probation } from './exclusive-workers.ts';
import { byCostEstimate, type Policy } from './policy.ts';
import type { SharedWorkers } from './shared-workers.ts';
import type { Starts } from './starts.ts';
import { Work, type PendingCall } from './work.ts';
import type { WorkerContext } from './worker-context.ts';
import type { Workers } from './workers.ts';

/** Batches of one endpoint on their way to each shared worker: the next is there when one is answered. */
const BATCHES_IN_FLIGHT = 2;

export class WaitingWork {
  readonly #shared: SharedWorkers;
  readonly #probation: Probation;
  readonly #large: LargeBodies;
  readonly #clock: Clock;
  readonly #policy: Policy;
  readonly #areBeside: boolean;
  /** Endpoints with calls that came in this turn of the event loop. */
  readonly #due = new Set<Endpoint>();
  /** Endpoints whose next call found no shared worker. */
  readonly #pending = new Set<Endpoint>();
  /** Loads that wait for a worker. */
  readonly #loads: Work[] = [];
  #isFlushing = false;
  #isClosed = false;

  constructor({ shared, probation, large }: Workers, { clock, policy, beside }: WorkerContext) {
    this.#areBeside = beside !== undefined;
    this.#shared = shared;
    this.#probation = probation;
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
    // They form no batches.
    if (this.#areBeside) return this.#dispatch(endpoint);
    this.#due.add(endpoint);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#clock.soon(() => this.#flush());
  }

  /** Gives out all that may begin now. */
  giveOut(): void {
    if (this.#isClosed) return;
    for (const work of this.#loads.splice(0)) {
      const worker = work.endpoint.onProbation ? undefined : this.#shared.forLoad();
      if (work.endpoint.onProbation) this.#probation.offerLoad(work);
      else if (worker === undefined) this.#loads.push(work);
      else worker.send(work);
    }
    if (this.#pending.size > 0)
      for (const endpoint of [...this.#pending].sort(byCostEstimate(this.#policy))) this.#dispatch(endpoint);
    this.#giveOutOnProbation();
    this.#giveOutLarge();
  }

  /** What begins after an answer: with nothing else that waits, the next calls of the same endpoint. */
  giveOutAfter(endpoint: Endpoint, wasShared: boolean): void {
    this.#pending.delete(endpoint);
    const isAlone = wasShared && this.#loads.length === 0 && this.#pending.size === 0;
    this.offer(endpoint, isAlone);
    if (!isAlone || endpoint.onProbation) this.giveOut();
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
    return [...this.#loads.splice(0), ...this.#probation.takeLoads()];
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
    this.#giveOutOnProbation();
  }

  #giveOutOnProbation(): void {
    const { workers } = this.#probation;
    for (let next = this.#probation.nextLoad(); next !== undefined; next = this.#probation.nextLoad()) {
      workers.begin(next.exclusive);
      next.exclusive.worker.send(next.work, true);
    }
    for (let next = this.#probation.nextCall(); next !== undefined; next = this.#probation.nextCall()) {
      workers.begin(next.exclusive);
      const { endpoint } = next;
      next.exclusive.worker.send(Work.ofCalls(endpoint, endpoint.take(true, this.#clock.now())), true);
    }
  }

  #giveOutLarge(): void {
    for (let next = this.#large.next(); next !== undefined; next = this.#large.next()) {
      next.workers.begin(next.exclusive);
      next.exclusive.worker.send(Work.ofCalls(next.endpoint, [next.call], 'large'), true);
    }
  }

  /** Gives the calls that wait to shared workers, or to the probation, which gives them out next. */
  #dispatch(endpoint: Endpoint): void {
    this.#pending.delete(endpoint);
    if (endpoint.onProbation) return this.#probation.offer(endpoint);
    const most = this.#areBeside ? Infinity : BATCHES_IN_FLIGHT * this.#shared.count;
    while (endpoint.counts.inFlight < most && endpoint.hasCalls()) {
      const worker = this.#shared.forCalls();
      const calls = worker?.takesNestedOnly === true ? endpoint.takeNested() : undefined;
      if (worker === undefined || calls?.length === 0) return void this.#pending.add(endpoint);
      worker.send(Work.ofCalls(endpoint, calls ?? endpoint.take(false, this.#clock.now())));
    }
  }

  /** Answers calls and loads that waited for too long, or for nobody. `problem`: why no worker can be started. */
  expire(endpoint: Endpoint, now: number, lost: number, problem: string | undefined): void {
    expire(endpoint.queue, (call) => mayWait(call, now, lost), endpoint, problem);
    if (!this.#areBeside) return;
    for (const load of this.#loads.filter(({ deadline }) => deadline <= now)) {
      this.#loads.splice(this.#loads.indexOf(load), 1);
      load.endLoad(problem ?? loadPassedLimit(load.endpoint.limit));
    }
  }
}

/** Takes away the calls that may not wait, and answers them. */
function expire(
  calls: PendingCall[],
  may: (call: PendingCall) => boolean,
  endpoint: Endpoint,
  problem: string | undefined,
): void {
  for (let i = calls.length - 1; i >= 0; i--) {
    const call = calls[i];
    if (call === undefined || may(call)) continue;
    calls.splice(i, 1);
    const { words } = endpoint.parts;
    call.giveUp(call.isAbandoned ? words.abandoned(endpoint) : words.noTurn(endpoint, call, problem));
  }
}

/** `lost`: those that came until then, and have no limit of their own, get no turn. */
export const mayWait = (call: PendingCall, now: number, lost: number): boolean =>
  call.beginBy > now && !call.isAbandoned && (call.came === undefined || call.came > lost);

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

/** Milliseconds beyond its limit for which a record waits while none is answered: its process may end, start and load again meanwhile. */
export const UNANSWERED_MS = 30_000;

export class UnansweredLimit {
  readonly #clock: Clock;
  readonly #starts: Pick<Starts, 'areHopeless'>;
  #answered: number;

  constructor(clock: Clock, starts: Pick<Starts, 'areHopeless'>) {
    this.#clock = clock;
    this.#starts = starts;
    this.#answered = clock.now();
  }

  /** Some call has its answer. */
  onAnswer(): void {
    this.#answered = this.#clock.now();
  }

  /** This process itself stood still: nothing could be answered meanwhile. */
  forgive(milliseconds: number): void {
    this.#answered += milliseconds;
  }

  /** Calls that came until then, of an endpoint with such a limit, get no turn any more. Where no process starts, they wait as long as any call. */
  lost({ limit }: { readonly limit: number }): number {
    const longest = limit + (this.#starts.areHopeless ? 0 : UNANSWERED_MS);
    const now = this.#clock.now();
    return now - this.#answered > longest ? now - longest : -Infinity;
  }
}
