/** A call that waits for its answer, and what an endpoint has to do. Its steps are for `work.ts` alone. */
import type { CallScope, CallSignal, CallTrace } from '../engine.ts';
import { divide } from '../records.ts';
import type { RecordsAnswer } from '../records.ts';
import type { Endpoint } from './endpoint.ts';
import type { Work } from './work.ts';

/** What runs calls, as their life needs it. */
export interface CalledEndpoint {
  readonly counts: Counts;
  /** Milliseconds a call may take. */
  readonly limit: number;
}

/** `large`: a call with a large body; what it takes says nothing of the code, and marks no endpoint. */
export type WorkKind = 'calls' | 'large' | 'load';

// The classes below hand it out.
let changeWaiting: (counts: Counts, by: number) => void;
let changeOpen: (counts: Counts, kind: WorkKind, by: number) => void;
let take: (call: PendingCall<CalledEndpoint>, work: Work<CalledEndpoint>) => void;
let putBack: (call: PendingCall<CalledEndpoint>, interruptedAt: number | undefined) => void;
let settle: (call: PendingCall<CalledEndpoint>, work: Work<CalledEndpoint>, outcome: Outcome) => void;

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
  readonly resolve: (result: string) => void;
  readonly reject: (error: Error) => void;
}

/** A call that waits for its answer; it is in the queue of its endpoint from the moment it is made. */
export class PendingCall<E extends CalledEndpoint = Endpoint> {
  readonly input: string;
  readonly records: RecordParts | undefined;
  readonly depth: number;
  readonly scope: CallScope;
  readonly trace: CallTrace | undefined;
  readonly deadline: number;
  readonly came: number | undefined;
  readonly caller: string;
  readonly signal: CallSignal | undefined;
  readonly endpoint: E;
  readonly #resolve: (result: string) => void;
  readonly #reject: (error: Error) => void;
  #beginBy: number;
  #attempts = 0;
  #holder: Work<CalledEndpoint> | 'queue' | 'settled' = 'queue';

  constructor(endpoint: E, parts: CallParts) {
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
  divide(first: number): PendingCall<E>[] {
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

export { changeOpen, putBack, settle, take };
