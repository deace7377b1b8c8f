/**
 * The life of work, and the only place that changes it: queued → sent → asking → answered, requeued or failed. A call is
 * settled once, by the work that has it, or in its queue when its time is over. What is not a step of this life throws.
 */
import type { Endpoint } from './endpoint.ts';
import { changeOpen, putBack, settle, take } from './pending-call.ts';
import type { CalledEndpoint, Outcome, PendingCall, WorkKind } from './pending-call.ts';

export type WorkState = 'queued' | 'sent' | 'asking' | 'answered' | 'requeued' | 'failed';

const STEPS: Readonly<Record<WorkState, readonly WorkState[]>> = {
  queued: ['sent', 'failed'],
  // A load that had no turn waits again as it is; calls go back to their queue.
  sent: ['queued', 'asking', 'answered', 'requeued', 'failed'],
  asking: ['sent', 'failed'],
  answered: [],
  requeued: [],
  failed: [],
};

/** Calls of one endpoint that run together, or the first load of one. */
export class Work<E extends CalledEndpoint = Endpoint, C extends PendingCall<E> = PendingCall<E>> {
  readonly endpoint: E;
  readonly kind: WorkKind;
  /** None for a load; one alone where it is records. */
  readonly calls: readonly C[];
  /** What it is to answer. */
  readonly size: number;
  readonly #loaded: ((problem: string) => void) | undefined;
  #state: WorkState = 'queued';
  #attempts = 0;
  #calledOut = false;
  #hasBegun = false;
  #deadline = 0;
  #isShortened = false;

  private constructor(endpoint: E, kind: WorkKind, calls: readonly C[], loaded?: (problem: string) => void) {
    this.endpoint = endpoint;
    this.kind = kind;
    this.calls = calls;
    this.size = calls[0]?.records?.count ?? calls.length;
    this.#loaded = loaded;
    for (const call of calls) take(call, this);
    changeOpen(endpoint.counts, kind, 1);
  }

  /** Calls that were taken out of a queue. */
  static ofCalls<E extends CalledEndpoint, C extends PendingCall<E>>(
    endpoint: E,
    calls: readonly C[],
    kind: 'calls' | 'large' = 'calls',
  ): Work<E, C> {
    return new Work(endpoint, kind, calls);
  }

  /** `loaded` hears why it cannot be loaded; empty text when it worked. */
  static ofLoad<E extends CalledEndpoint, C extends PendingCall<E> = PendingCall<E>>(
    endpoint: E,
    loaded: (problem: string) => void,
  ): Work<E, C> {
    return new Work<E, C>(endpoint, 'load', [], loaded);
  }

  get state(): WorkState {
    return this.#state;
  }

  /** How often a load was tried in vain. */
  get attempts(): number {
    return this.#attempts;
  }

  /** It has made a call outside of the sandbox, so it must not run twice. */
  get calledOut(): boolean {
    return this.#calledOut;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Milliseconds of the clock by which it must have ended, or, before it has begun, by which it must begin. */
  get deadline(): number {
    return this.#deadline;
  }

  /** Its caller had less time left than the limit of the endpoint. */
  get isShortened(): boolean {
    return this.#isShortened;
  }

  send(): void {
    this.#step('sent');
    this.#hasBegun = false;
  }

  /** It has its turn, once in the process that has it, in which it may begin by then. */
  awaitTurn(latest: number): void {
    this.#deadline = latest;
  }

  /** Its turn has come: its time begins. */
  begin(now: number): void {
    this.#hasBegun = true;
    this.#deadline = this.endIfBegunAt(now);
    this.#isShortened = this.#deadline < now + this.endpoint.limit;
    for (const { trace } of this.calls) trace?.span?.begins();
  }

  endIfBegunAt(now: number): number {
    let end = now + this.endpoint.limit;
    for (const { deadline } of this.calls) if (deadline < end) end = deadline;
    return end;
  }

  /** Its code waits for an answer from outside, and uses no core meanwhile. */
  ask(): void {
    this.#step('asking');
    this.#calledOut = true;
  }

  hear(): void {
    this.#step('sent');
  }

  /** The answers of its calls are here; each is settled next. */
  answer(): void {
    this.#end('answered');
  }

  settle(call: C, outcome: Outcome): void {
    if (this.#state !== 'answered') throw new Error(`the calls of work that is ${this.#state} have no answers`);
    settle(call, this, outcome);
  }

  fail(errorFor: (call: C) => Error): void {
    this.#end('failed');
    for (const call of this.calls) settle(call, this, errorFor(call));
  }

  /** Gives its calls back; who calls puts them into their queue. `interruptedAt`: where they had begun, so that each runs alone from now on, and may wait as long as when it came. */
  requeue(interruptedAt?: number): readonly C[] {
    if (this.#calledOut) throw new Error('what has called out must not run twice');
    this.#end('requeued');
    for (const call of this.calls) putBack(call, interruptedAt);
    return this.calls;
  }

  /** The load has ended, well where there is no problem. */
  endLoad(problem: string): void {
    this.#end(problem === '' ? 'answered' : 'failed');
    this.#loaded?.(problem);
  }

  /** A load waits for a process again, after an attempt or without one. */
  waitAgain(wasTried: boolean): void {
    this.#step('queued');
    if (wasTried) this.#attempts++;
  }

  /** Its endpoint has to earn its record anew; what a large body did is not its fault. */
  blame(this: Work, timedOut: boolean): void {
    if (this.kind === 'large') return;
    this.endpoint.quarantine();
    this.endpoint.timedOut = timedOut;
  }

  #end(state: 'answered' | 'requeued' | 'failed'): void {
    this.#step(state);
    changeOpen(this.endpoint.counts, this.kind, -1);
  }

  #step(state: WorkState): void {
    if (!STEPS[this.#state].includes(state)) throw new Error(`work that is ${this.#state} cannot become ${state}`);
    this.#state = state;
  }
}
