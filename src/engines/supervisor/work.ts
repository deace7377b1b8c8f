/**
 * The life of work, and the only place that changes it: queued → sent → asking → answered, requeued or failed. A call is
 * settled once, by the work that has it, or in its queue when its time is over. What is not a step of this life throws.
 */
import type { CallScope, CallSignal, CallTrace } from '../engine.ts';
import { divide } from '../records.ts';
import type { RecordsAnswer, RecordsPart } from '../records.ts';
import type { Endpoint } from './endpoint.ts';

/** `large`: a call with a large body; what it takes says nothing of the code, and marks no endpoint. */
export type WorkKind = 'calls' | 'large' | 'load';

// Steps that only this module takes: the classes below hand them out.
let changeWaiting: (counts: Counts, by: number) => void;
let changeOpen: (counts: Counts, kind: WorkKind, by: number) => void;
let take: (call: PendingCall, work: Work) => void;
let putBack: (call: PendingCall, interruptedAt: number | undefined) => void;
let settle: (call: PendingCall, work: Work, outcome: Outcome) => void;

/** The result as JSON text, what came of records, or why there is none. */
export type Outcome = string | RecordsAnswer | Error;

/** What an endpoint has to do, kept with each step. */
export class Counts {
  #waiting = 0;
  #inFlight = 0;
  #large = 0;

  /** Calls that no process has. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Pieces of work that have begun their life and not ended it; loads from the moment they are wanted. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The same for large bodies. */
  get large(): number {
    return this.#large;
  }

  get isNothing(): boolean {
    return this.#waiting + this.#inFlight + this.#large === 0;
  }

  static {
    changeWaiting = (counts, by) => void (counts.#waiting += by);
    changeOpen = (counts, kind, by) => {
      if (kind === 'large') counts.#large += by;
      else counts.#inFlight += by;
    };
  }
}

/** What a program is sent before the first call of an endpoint. */
export interface Code {
  /** By which its program knows it. */
  readonly index: number;
  /** In the form of the program. */
  readonly text: string;
}

/** Hears of what came of the next records of a call, as it comes. */
export interface RecordsSink {
  readonly count: number;
  take(parts: readonly RecordsPart[]): void;
}

/** Where a call is not one record but some that follow each other. */
export interface RecordParts {
  /** The place of the first among all that came together. */
  readonly at: number;
  readonly count: number;
  /** Hears what came of those from the place `at` on, in place of `resolve` and `reject`. */
  readonly put: (at: number, answer: RecordsAnswer) => void;
}

export interface CallParts {
  /** JSON text without NUL; of records, the text of a `RecordBlock`. */
  readonly input: string;
  readonly records?: RecordParts | undefined;
  readonly depth: number;
  readonly scope: CallScope;
  readonly trace?: CallTrace | undefined;
  /** Milliseconds of the clock by which it must have its turn. */
  readonly beginBy: number;
  /** … and by which it must have ended, where its caller has only so much time left; else Infinity. */
  readonly deadline: number;
  /** When it came, where it waits as long as others are answered. */
  readonly came?: number | undefined;
  /** Who sent it: large bodies are shared out among those. */
  readonly caller: string;
  readonly signal?: CallSignal | undefined;
  /** Milliseconds that it had when it came, for whoever is told that they were not enough. */
  readonly limitMs?: number;
  /** Which function is called, where an `Endpoint` has several. */
  readonly code?: Code;
  /** The input is text, and no JSON. */
  readonly isText?: boolean;
  /** The input is the text of a block of records; when all are answered, an empty text resolves the call. */
  readonly sink?: RecordsSink | undefined;
  readonly resolve: (result: string) => void;
  readonly reject: (error: Error) => void;
}

/** A call that waits for its answer; it is in the queue of its endpoint from the moment it is made. */
export class PendingCall {
  readonly input: string;
  readonly records: RecordParts | undefined;
  readonly depth: number;
  readonly scope: CallScope;
  readonly trace: CallTrace | undefined;
  readonly deadline: number;
  readonly came: number | undefined;
  readonly caller: string;
  readonly signal: CallSignal | undefined;
  readonly endpoint: Endpoint;
  readonly code: Code;
  readonly isText: boolean;
  readonly limitMs: number;
  readonly sink: RecordsSink | undefined;
  /** Records for its sink that have no answer. */
  left: number;
  readonly #resolve: (result: string) => void;
  readonly #reject: (error: Error) => void;
  #beginBy: number;
  #attempts = 0;
  #holder: Work | 'queue' | 'settled' = 'queue';

  constructor(endpoint: Endpoint, parts: CallParts) {
    this.input = parts.input;
    this.records = parts.records;
    this.depth = parts.depth;
    this.scope = parts.scope;
    this.trace = parts.trace;
    this.deadline = parts.deadline;
    this.came = parts.came;
    this.caller = parts.caller;
    this.signal = parts.signal;
    this.endpoint = endpoint;
    this.code = parts.code ?? endpoint;
    this.isText = parts.isText === true;
    this.limitMs = parts.limitMs ?? 0;
    this.sink = parts.sink;
    this.left = parts.sink?.count ?? 0;
    this.#beginBy = parts.beginBy;
    this.#resolve = parts.resolve;
    this.#reject = parts.reject;
    changeWaiting(endpoint.counts, 1);
  }

  /** Milliseconds of the clock by which it must have its turn. */
  get beginBy(): number {
    return this.#beginBy;
  }

  /** Nobody waits for its answer any more. */
  get isAbandoned(): boolean {
    return this.signal?.aborted === true;
  }

  /** How often it was interrupted; from then on it runs alone. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Answers a call that got no turn; who has it in a queue takes it out. */
  giveUp(error: Error): void {
    if (this.#holder !== 'queue') throw new Error('a call that is not in a queue cannot be given up');
    this.#holder = 'settled';
    changeWaiting(this.endpoint.counts, -1);
    this.#fail(error);
  }

  /** Some of its first records as a call, and the others as one where there are more; who has it in a queue puts these in its place. */
  divide(first: number): PendingCall[] {
    const { records, input: text, endpoint } = this;
    if (records === undefined || records.count <= first) return [this];
    if (this.#holder !== 'queue') throw new Error('a call that is not in a queue cannot be divided');
    this.#holder = 'settled';
    changeWaiting(endpoint.counts, -1);
    let { at } = records;
    return divide({ text, count: records.count }, first).flatMap((block) => {
      if (block === undefined) return [];
      const { count } = block;
      const part = new PendingCall(endpoint, {
        ...{ input: block.text, records: { ...records, at, count }, depth: this.depth, scope: this.scope },
        ...{ trace: this.trace, beginBy: this.#beginBy, deadline: this.deadline, came: this.came, caller: this.caller },
        ...{ signal: this.signal, resolve: this.#resolve, reject: this.#reject },
      });
      part.#attempts = this.#attempts;
      at += count;
      return [part];
    });
  }

  #fail(error: Error): void {
    const { records } = this;
    if (records === undefined) this.#reject(error);
    else records.put(records.at, Array<Error>(records.count).fill(error));
  }

  static {
    take = (call, work) => {
      if (call.#holder !== 'queue') throw new Error('a call that is not in a queue cannot be taken');
      call.#holder = work;
      changeWaiting(call.endpoint.counts, -1);
    };
    putBack = (call, interruptedAt) => {
      call.#holder = 'queue';
      changeWaiting(call.endpoint.counts, 1);
      if (interruptedAt === undefined) return;
      call.#attempts++;
      if (call.#beginBy < Infinity) call.#beginBy = Math.min(interruptedAt + call.endpoint.limit, call.deadline);
    };
    settle = (call, work, outcome) => {
      if (call.#holder !== work) throw new Error('a call is settled by the work that has it, and once');
      call.#holder = 'settled';
      if (typeof outcome === 'string') call.#resolve(outcome);
      else if (outcome instanceof Error) call.#fail(outcome);
      else call.records?.put(call.records.at, outcome);
    };
  }
}

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
export class Work {
  readonly endpoint: Endpoint;
  readonly kind: WorkKind;
  /** None for a load; one alone where it is records. */
  readonly calls: readonly PendingCall[];
  /** What its program must have. */
  readonly code: Code;
  /** What it is to answer. */
  readonly size: number;
  readonly #loaded: ((problem: string) => void) | undefined;
  #state: WorkState = 'queued';
  #attempts = 0;
  #calledOut = false;
  #hasBegun = false;
  #deadline = 0;
  #isShortened = false;

  private constructor(
    endpoint: Endpoint,
    kind: WorkKind,
    calls: readonly PendingCall[],
    code: Code,
    loaded?: (problem: string) => void,
  ) {
    this.code = code;
    this.endpoint = endpoint;
    this.kind = kind;
    this.calls = calls;
    this.size = calls[0]?.records?.count ?? calls.length;
    this.#loaded = loaded;
    for (const call of calls) take(call, this);
    changeOpen(endpoint.counts, kind, 1);
  }

  /** Calls that were taken out of a queue. */
  static ofCalls(endpoint: Endpoint, calls: readonly PendingCall[], kind: 'calls' | 'large' = 'calls'): Work {
    return new Work(endpoint, kind, calls, calls[0]?.code ?? endpoint);
  }

  /** `loaded` hears why it cannot be loaded; empty text when it worked. */
  static ofLoad(endpoint: Endpoint, loaded: (problem: string) => void, code: Code = endpoint): Work {
    return new Work(endpoint, 'load', [], code, loaded);
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

  /** Nothing is left to be answered; its code may run on. */
  get hasEnded(): boolean {
    return this.#state === 'answered' || this.#state === 'failed';
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

  settle(call: PendingCall, outcome: Outcome): void {
    if (this.#state !== 'answered') throw new Error(`the calls of work that is ${this.#state} have no answers`);
    settle(call, this, outcome);
  }

  fail(errorFor: (call: PendingCall) => Error): void {
    this.#end('failed');
    for (const call of this.calls) settle(call, this, errorFor(call));
  }

  /** Gives its calls back; who calls puts them into their queue. `interruptedAt`: where they had begun, so that each runs alone from now on, and may wait as long as when it came. */
  requeue(interruptedAt?: number): readonly PendingCall[] {
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
  blame(timedOut: boolean): void {
    if (this.kind === 'large') return;
    this.endpoint.putOnProbation();
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
