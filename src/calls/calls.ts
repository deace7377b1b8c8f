/**
 * Calls of endpoints that are active, whatever protocol brings them: how they run, what is measured of them and what a
 * failure leaves in the log stands here alone.
 */
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { Call, CallScope, CallSignal, CallTrace, Executor, NestedCall } from '../engines/engine.ts';
import type { CallOrigin } from '../engines/call-token.ts';
import { resultLine, textsOf } from '../engines/records.ts';
import type { RecordBlock, RecordsAnswer } from '../engines/records.ts';
import { callerGone, endpointNotFound, messageOf, ServiceError } from '../lib/errors.ts';
import { mapBounded } from '../lib/map-bounded.ts';
import { uptime } from '../lib/uptime.ts';
import type { CallChecks } from './call-checks.ts';
import { runChecked } from './checked-records.ts';
import type { FailedCalls } from './failed-calls.ts';
import type { HeldBytes } from './held-bytes.ts';

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
  /** Of a call by one of several that run together nobody knows whose it is. */
  readonly trace: CallTrace | undefined;
  /** Of the call by another knowledge object; a client's where it is left out. */
  readonly origin?: CallOrigin | undefined;
  readonly caller: string | undefined;
}

/** Of records that run together. */
export interface RecordsInput {
  readonly records: RecordBlock;
  readonly trace: CallTrace | undefined;
  readonly origin?: CallOrigin | undefined;
  readonly caller: string | undefined;
}

/** `done`, or the code of the error. */
export type CallOutcome = string;

/** Learns of each call once it has ended: the id of its endpoint, when it began by `uptime()`, and the milliseconds that it took. */
export type CallObserver = (route: string, outcome: CallOutcome, start: number, duration: number) => void;

export interface CallsOptions {
  /** Takes account of the inputs. */
  readonly held: HeldBytes;
  readonly failures: FailedCalls;
  readonly observe: CallObserver;
  /** Holds calls of clients to the schemas of their endpoints. */
  readonly checks?: CallChecks | undefined;
  /** What the service says of an endpoint, as JSON text. */
  readonly describe?: (endpoint: Endpoint) => string;
}

export class Calls {
  readonly #options: CallsOptions;
  #scope: SetScope | undefined;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /**
   * Gives the result as JSON text. What waits, for an activation or in the queue of an engine, does not begin once
   * `signal` is aborted.
   * @throws ServiceError as of executors, and where the endpoint cannot be called.
   */
  async invoke(target: CallTarget, input: CallInput, signal?: CallSignal): Promise<string> {
    const { endpoint, set } = target;
    const { body, contentType, json, trace, origin, caller } = input;
    const { held, failures, observe } = this.#options;
    const start = uptime();
    let outcome = 'done';
    let bytes = 0;
    try {
      bytes = held.hold(body.length);
      const executor = endpoint.ready() ?? (await endpoint.executor());
      if (isAborted(signal)) throw callerGone('The client went away before its call began');
      const { depth, deadline } = origin ?? OF_CLIENT;
      const scope = this.#scopeOf(set);
      const checks = origin === undefined ? this.#options.checks?.of(endpoint) : undefined;
      if (checks === undefined)
        return await executor.execute({ body, contentType, json, deadline, depth, trace, scope, caller, signal });
      if (json) {
        const refusals = checks.inputs([String(body)], { contentType, caller, signal });
        const [refusal] = refusals === undefined ? [] : await refusals;
        if (isAborted(signal)) throw callerGone('The client went away before its call began');
        if (refusal !== undefined) throw refusal;
      }
      const call = { body, contentType, json, deadline, depth, trace, scope, caller, signal };
      const result = await executor.execute(call);
      if (checks.concernsResults) checks.results([result], call);
      return result;
    } catch (thrown) {
      outcome = thrown instanceof ServiceError ? thrown.code : 'internal';
      failures.note(thrown, { endpoint, trace, input: input.text, json });
      throw thrown;
    } finally {
      held.shrink(bytes);
      observe(endpoint.id, outcome, start, uptime() - start);
    }
  }

  /**
   * Each record is a call as any other, measured and told of where it fails; but they run behind all single calls.
   * @throws ServiceError where the endpoint cannot be called.
   */
  async invokeRecords(target: CallTarget, input: RecordsInput, signal?: CallSignal): Promise<RecordsAnswer> {
    const { endpoint, set } = target;
    const { records, trace, origin, caller } = input;
    const { failures, observe } = this.#options;
    const executor = endpoint.ready() ?? (await endpoint.executor());
    const start = uptime();
    const scope = this.#scopeOf(set);
    const run = async (some: RecordBlock): Promise<RecordsAnswer> =>
      executor.executeRecords !== undefined && origin === undefined
        ? await executor.executeRecords({ records: some, scope, caller, signal })
        : await oneByOne(executor, textsOf(some), { ...(origin ?? OF_CLIENT), trace, scope, caller, signal });
    const checks = origin === undefined ? this.#options.checks?.of(endpoint) : undefined;
    const answer =
      checks === undefined
        ? await run(records)
        : await runChecked(records, run, checks, { contentType: JSON_TYPE, caller, signal });
    const duration = uptime() - start;
    let texts: readonly string[] | undefined;
    let at = 0;
    for (const part of answer) {
      if (part instanceof Error) {
        texts ??= textsOf(records);
        failures.note(part, { endpoint, trace, input: texts[at] ?? '', json: true });
        observe(endpoint.id, part instanceof ServiceError ? part.code : 'internal', start, duration);
        at++;
      } else {
        for (let i = 0; i < part.count; i++) observe(endpoint.id, 'done', start, duration);
        at += part.count;
      }
    }
    return answer;
  }

  /** What the service says of an endpoint, as JSON text. */
  describe(endpoint: Endpoint): string | undefined {
    return this.#options.describe?.(endpoint);
  }

  /** One for each set: calls in one scope may run together. */
  #scopeOf(set: EndpointSet): SetScope {
    if (this.#scope?.set !== set) this.#scope = new SetScope(this, set);
    return this.#scope;
  }
}

const isAborted = (signal: CallSignal | undefined): boolean => signal?.aborted === true;

class SetScope implements CallScope {
  readonly set: EndpointSet;
  readonly #calls: Calls;

  constructor(calls: Calls, set: EndpointSet) {
    this.#calls = calls;
    this.set = set;
  }

  find(id: string): Endpoint | undefined {
    return this.set.find(id);
  }

  describe(id: string): Promise<string | undefined> {
    const endpoint = this.set.find(id) ?? this.set.versioned(id, 'get');
    return Promise.resolve(endpoint && this.#calls.describe(endpoint));
  }

  async call(id: string, { body, depth, deadline, signal, ...input }: NestedCall): Promise<string> {
    const { set } = this;
    const endpoint = set.find(id);
    if (endpoint === undefined) throw endpointNotFound(`${id} is not active`);
    const nested = { body, text: body, origin: { depth, deadline }, trace: undefined, caller: undefined, ...input };
    return this.#calls.invoke({ endpoint, set }, nested, signal);
  }
}

function oneByOne(
  executor: Executor,
  texts: readonly string[],
  call: Omit<Call, 'body' | 'contentType' | 'json'>,
): Promise<RecordsAnswer> {
  return mapBounded(texts, RECORDS_AT_ONCE, (body) =>
    executor
      .execute({ ...call, body, contentType: JSON_TYPE, json: true })
      .then(resultLine, (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(messageOf(thrown)))),
  );
}

/** Of an engine that runs one at a time, so many are on their way. */
const RECORDS_AT_ONCE = 32;
const JSON_TYPE = 'application/json';
const OF_CLIENT: CallOrigin = { depth: 0, deadline: Infinity };
