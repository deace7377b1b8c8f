/**
 * Calls of endpoints that are active, whatever protocol brings them: how they run, what is measured of them and what a
 * failure leaves in the log stands here alone.
 */
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { CallTrace } from '../engines/engine.ts';
import type { CallOrigin } from '../engines/call-token.ts';
import { malformedRequest, ServiceError } from '../lib/errors.ts';
import { uptime } from '../lib/uptime.ts';
import type { FailedCalls } from './failed-calls.ts';

/** What is called, and the set in which it was found: what it calls in turn comes from there. */
export interface CallTarget {
  readonly endpoint: Endpoint;
  readonly set: EndpointSet;
}

export interface CallInput {
  readonly body: string | Buffer;
  /** The body as text, for the log of a failure, which leaves out what it holds. */
  readonly text: string;
  readonly contentType: string;
  readonly json: boolean;
  readonly trace: CallTrace;
  /** Of the call by another knowledge object; a client's where it is left out. */
  readonly origin?: CallOrigin | undefined;
  readonly caller: string | undefined;
}

/** `done`, or the code of the error. */
export type CallOutcome = string;

/** Learns of each call once it has ended: the id of its endpoint, when it began by `uptime()`, and the milliseconds that it took. */
export type CallObserver = (route: string, outcome: CallOutcome, start: number, duration: number) => void;

export class Calls {
  readonly #failures: FailedCalls;
  readonly #observe: CallObserver;

  constructor(failures: FailedCalls, observe: CallObserver) {
    this.#failures = failures;
    this.#observe = observe;
  }

  /**
   * Gives the result as JSON text. What waits for an activation does not begin once `signal` is aborted.
   * @throws ServiceError as of executors, and where the endpoint cannot be called.
   */
  async invoke(target: CallTarget, input: CallInput, signal?: Pick<AbortSignal, 'aborted'>): Promise<string> {
    const { endpoint, set } = target;
    const { body, contentType, json, trace, origin, caller } = input;
    const start = uptime();
    let outcome = 'done';
    try {
      const executor = endpoint.ready() ?? (await endpoint.executor());
      if (signal?.aborted === true) throw malformedRequest('The client went away before the call began');
      const { depth, deadline } = origin ?? OF_CLIENT;
      return await executor.execute({ body, contentType, json, deadline, depth, trace, scope: set, caller });
    } catch (thrown) {
      outcome = thrown instanceof ServiceError ? thrown.code : 'internal';
      this.#failures.note(thrown, { endpoint, trace, input: input.text, json });
      throw thrown;
    } finally {
      this.#observe(endpoint.id, outcome, start, uptime() - start);
    }
  }
}

const OF_CLIENT: CallOrigin = { depth: 0, deadline: Infinity };
