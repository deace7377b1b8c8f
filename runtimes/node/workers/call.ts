/** One call of an endpoint on its way: waiting, in a worker, or answered. It is answered exactly once. */
import type { Place } from '../worker/describe.ts';

export type Outcome = { readonly ok: true; /** JSON text. */ readonly result: string } | FailedCall;

export interface FailedCall extends Reason {
  readonly ok: false;
}

export interface Reason {
  /** HTTP status. */
  readonly status: number;
  readonly description: string;
  /** `Invalid Input`, where the code says so. */
  readonly title?: string;
  /** Where in the knowledge object. */
  readonly place?: Place;
}

export interface CallInput {
  readonly uri: string;
  /** `load` only brings the endpoint's module to life. */
  readonly kind: 'call' | 'load';
  readonly body: string;
  readonly json: boolean;
  /** 0 for a client's call, one more for each call of one knowledge object by another. */
  readonly depth: number;
  /** What the activator gave out with the request, to come back with calls of other endpoints; never for the worker. */
  readonly token?: string | undefined;
  /** Headers by which its request is known in logs, to go on with calls of other endpoints. */
  readonly trace?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds until it must be answered. */
  readonly limit: number;
}

export class Call {
  readonly input: CallInput;
  /** As `performance.now()` gives it. */
  readonly deadline: number;
  answered = false;
  /** Calls of other endpoints that this one waits for. */
  nested = 0;
  readonly #done: (outcome: Outcome) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(input: CallInput, done: (outcome: Outcome) => void) {
    this.input = input;
    this.deadline = performance.now() + input.limit;
    this.#done = done;
  }

  onDeadline(expire: () => void): void {
    this.#timer = setTimeout(expire, this.input.limit);
  }

  settle(outcome: Outcome): void {
    if (this.answered) return;
    this.answered = true;
    clearTimeout(this.#timer);
    this.#done(outcome);
  }

  fail(status: number, description: string): void {
    this.settle({ ok: false, status, description });
  }
}
