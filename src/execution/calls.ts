/**
 * Calls of endpoints that are active, whatever protocol brings them: how they run, what is measured of them and what a
 * failure leaves in the log stands here alone.
 */
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { CallOrigin } from '../engines/call-token.ts';
import type { CallScope, CallSignal, CallTrace, NestedCall } from '../engines/engine.ts';
import { oneByOne } from '../engines/one-by-one.ts';
import { type RecordBlock, type RecordsAnswer, type RecordsPart, RESULT_HEAD, textsOf } from '../engines/records.ts';
import type { Identity } from '../identity/identity.ts';
import { namedIn, type Principal } from '../identity/principal.ts';
import { callerGone, endpointNotFound, notAuthorized, outcomeOf, type ServiceError, toError } from '../lib/errors.ts';
import { mapBounded } from '../lib/fair-queue.ts';
import type { CallChecks, CheckedCall, EndpointChecks } from './call-checks.ts';
import { asFaultOfInput, checkResult, inexactInput, mayLoseDigits, withoutInfinite } from './exact-numbers.ts';
import { visibleSet } from '../identity/visible.ts';
import type { ExecutionLog } from './execution-log.ts';
import type { FailedCalls } from './failed-calls.ts';
import type { HeldBytes } from './held-bytes.ts';
import type { CalledEndpoints } from './provenance.ts';

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
  /** Who calls; undefined for a call by the code of another knowledge object in this service. */
  readonly principal?: Principal | undefined;
  /** Milliseconds of `uptime()` by which a client wants the answer; no sooner than its engine's own limit where it is left out. */
  readonly deadline?: number | undefined;
  /** Its protocol holds inputs to their schemas, whatever the operator and the knowledge object say. */
  readonly isHeldToSchema?: true | undefined;
  /** Learns which endpoints its code asks for, which costs it the company of others in a batch. */
  readonly called?: CalledEndpoints | undefined;
}

/** Of records that run together. */
export interface RecordsInput {
  readonly records: RecordBlock;
  /** Of `Calls.holdingScope`, for what they call. */
  readonly scope: CallScope;
  readonly trace: CallTrace | undefined;
  readonly origin?: CallOrigin | undefined;
  readonly caller: string | undefined;
  readonly principal?: Principal | undefined;
}

/** `done`, or the code of the error. */
export type CallOutcome = string;

/**
 * Learns of each call once it has ended. Milliseconds, with their fraction: when it began by `performance.now()`, and
 * how long it took. `calls`: that so many took as long each, such as records that ran together and share their time.
 */
export type CallObserver = (
  endpoint: Endpoint,
  outcome: CallOutcome,
  start: number,
  duration: number,
  calls: number,
) => void;

/** A call that is traced: as it goes on from here, until its end. */
export interface TracedCall {
  readonly trace: CallTrace;
  end(outcome: CallOutcome): void;
}

export interface CallTracer {
  /** `who` calls, where that has a name. `records`: of how many that run together. */
  call(endpoint: Endpoint, trace: CallTrace, who: string | undefined, records?: number): TracedCall;
}

export interface CallsOptions {
  /** Asked whether a principal may call an endpoint. */
  readonly identity?: Pick<Identity, 'allows'> & Partial<Pick<Identity, 'limits'>>;
  /** Takes account of the inputs. */
  readonly held: HeldBytes;
  readonly failures: FailedCalls;
  readonly observe: CallObserver;
  /** Where each call leaves a line in the log. */
  readonly executions?: ExecutionLog | undefined;
  readonly tracer?: CallTracer | undefined;
  /** Holds calls of clients to the schemas of their endpoints. */
  readonly checks?: CallChecks | undefined;
  /** What the service says of an endpoint, as JSON text. */
  readonly describe?: (endpoint: Endpoint) => string;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #scopes = new WeakMap<EndpointSet, SetScope>();

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /**
   * Gives the result as JSON text. What waits, for an activation or in the queue of an engine, does not begin once
   * `signal` is aborted.
   * @throws ServiceError as of executors, and where the endpoint cannot be called.
   */
  async invoke(target: CallTarget, input: CallInput, signal?: CallSignal): Promise<string> {
    const { endpoint } = target;
    const set = callable(target.set, input.principal);
    const { body, contentType, json, origin, caller } = input;
    const { held, failures, observe, executions, tracer } = this.#options;
    const start = performance.now();
    // Where nobody knows whose call it is, it would begin a trace of its own.
    const traced =
      input.trace === undefined ? undefined : tracer?.call(endpoint, input.trace, namedIn(input.principal)?.who);
    const trace = traced === undefined ? input.trace : traced.trace;
    let outcome = 'done';
    let bytes = 0;
    let result: string | undefined;
    let over: (() => void) | undefined;
    try {
      this.#require(input.principal, endpoint);
      over = this.begin(input.principal, caller);
      bytes = held.hold(body.length);
      const executor = endpoint.ready() ?? (await endpoint.executor());
      if (isAborted(signal)) throw callerGone('The client went away before its call began');
      const { depth, deadline } = origin ?? { ...OF_CLIENT, deadline: input.deadline ?? Infinity };
      const scope = input.called === undefined ? this.#scopeOf(set) : new SetScope(this, set, input.called);
      if (json && mayLoseDigits(endpoint.entry.engine, input.text)) {
        const refusal = await this.#inexact(endpoint, input.text, origin !== undefined, {
          contentType,
          caller,
          signal,
        });
        if (isAborted(signal)) throw callerGone('The client went away before its call began');
        if (refusal !== undefined) throw refusal;
      }
      const { isHeldToSchema } = input;
      const checks =
        origin === undefined || isHeldToSchema ? this.#options.checks?.of(endpoint, isHeldToSchema) : undefined;
      if (checks === undefined) {
        result = await executor.execute({ body, contentType, json, deadline, depth, trace, scope, caller, signal });
        await checkResult(result);
        return result;
      }
      if (json) {
        const refusals = checks.inputs([String(body)], { contentType, caller, signal }, isHeldToSchema);
        const [refusal] = refusals === undefined ? [] : await refusals;
        if (isAborted(signal)) throw callerGone('The client went away before its call began');
        if (refusal !== undefined) throw refusal;
      }
      const call = { body, contentType, json, deadline, depth, trace, scope, caller, signal };
      result = await executor.execute(call);
      await checkResult(result);
      if (checks.concernsResults) checks.results([result], call);
      return result;
    } catch (caught) {
      const thrown = json ? asFaultOfInput(caught, input.text) : caught;
      outcome = outcomeOf(thrown);
      failures.note(thrown, { endpoint, trace, input: input.text, json });
      throw thrown;
    } finally {
      over?.();
      held.shrink(bytes);
      const milliseconds = performance.now() - start;
      observe(endpoint, outcome, start, milliseconds, 1);
      traced?.end(outcome);
      if (executions !== undefined) {
        const depth = origin?.depth ?? 0;
        const named = namedIn(input.principal);
        executions.note({ endpoint, trace, caller, named, depth, outcome, milliseconds, input: input.text, result });
      }
    }
  }

  /**
   * Each record is a call as any other, measured and told of where it fails; but they run behind all single calls.
   * @throws ServiceError where the endpoint cannot be called.
   */
  async invokeRecords(target: CallTarget, input: RecordsInput, signal?: CallSignal): Promise<RecordsAnswer> {
    const { endpoint } = target;
    const { records, scope, origin, caller } = input;
    const { failures, observe, tracer } = this.#options;
    this.#require(input.principal, endpoint);
    const executor = endpoint.ready() ?? (await endpoint.executor());
    const start = performance.now();
    const traced =
      input.trace === undefined
        ? undefined
        : tracer?.call(endpoint, input.trace, namedIn(input.principal)?.who, records.count);
    const trace = traced === undefined ? input.trace : traced.trace;
    const execute = async (some: RecordBlock): Promise<RecordsAnswer> =>
      withoutInfinite(
        executor.executeRecords !== undefined && origin === undefined
          ? await executor.executeRecords({ records: some, scope, trace, caller, signal })
          : await oneByOne(some, { ...(origin ?? OF_CLIENT), trace, scope, caller, signal }, (call) =>
              executor.execute(call),
            ),
      );
    const { engine } = endpoint.entry;
    const run = (some: RecordBlock): Promise<RecordsAnswer> =>
      mayLoseDigits(engine, some.text)
        ? runOthers(
            some,
            (text) => this.#inexact(endpoint, text, false, { contentType: JSON_TYPE, caller, signal }),
            execute,
          )
        : execute(some);
    const checks = origin === undefined ? this.#options.checks?.of(endpoint) : undefined;
    const answer =
      checks === undefined
        ? await run(records)
        : await runChecked(records, run, checks, { contentType: JSON_TYPE, caller, signal });
    const duration = (performance.now() - start) / Math.max(1, records.count);
    traced?.end('done');
    const told: RecordsPart[] = [];
    let texts: readonly string[] | undefined;
    let at = 0;
    let failed = 0;
    for (const part of answer) {
      if (part instanceof Error) {
        texts ??= textsOf(records);
        const input = texts[at] ?? '';
        const error = toError(asFaultOfInput(part, input));
        failures.note(error, { endpoint, trace, input, json: true });
        observe(endpoint, outcomeOf(error), start, duration, 1);
        told.push(error);
        at++;
        failed++;
      } else {
        observe(endpoint, 'done', start, duration, part.count);
        told.push(part);
        at += part.count;
      }
    }
    this.#options.executions?.noteRecords({
      endpoint,
      trace,
      caller,
      named: namedIn(input.principal),
      records: records.count,
      failed,
      milliseconds: duration * records.count,
      inputBytes: records.text.length,
      inputs: () => Buffer.from(records.text, 'latin1').toString(),
    });
    return told;
  }

  /** Takes account of a call of this principal, or of a batch, until what it gives is called. @throws tooManyRequests. */
  begin(principal: Principal | undefined, address: string | undefined): (() => void) | undefined {
    if (principal === undefined) return undefined;
    return this.#options.identity?.limits?.begin(principal, address);
  }

  /** For calls that go on for long: what they call in turn stays until its end, also when it is replaced meanwhile. */
  holdingScope(set: EndpointSet, principal?: Principal): CallScope & Disposable {
    return new HoldingScope(this, callable(set, principal));
  }

  /** What the service says of an endpoint, as JSON text. */
  describe(endpoint: Endpoint): string | undefined {
    return this.#options.describe?.(endpoint);
  }

  /** @throws notAuthorized. */
  #require(principal: Principal | undefined, { id, ko }: Endpoint): void {
    if (principal === undefined || this.#options.identity?.allows(principal, 'execution', ko.id) !== false) return;
    throw notAuthorized(`${principal.name} may not call ${id}`);
  }

  /** Why an input is refused that holds what the numbers of its engine do not. @throws overloaded. */
  #inexact(endpoint: Endpoint, text: string, isNested: boolean, call: CheckedCall): Promise<ServiceError | undefined> {
    const { checks } = this.#options;
    return inexactInput(endpoint.entry.engine, text, isNested, async (paths) =>
      checks === undefined ? [] : await checks.sayNumber(endpoint, paths, call),
    );
  }

  /** One for each set: calls in one scope may run together. */
  #scopeOf(set: EndpointSet): SetScope {
    let scope = this.#scopes.get(set);
    if (scope === undefined) this.#scopes.set(set, (scope = new SetScope(this, set)));
    return scope;
  }
}

/** Code has the rights of whoever called it: to it, all else is not active. */
const callable = (set: EndpointSet, principal: Principal | undefined): EndpointSet =>
  principal === undefined ? set : visibleSet(set, principal.grants, 'execution');

const isAborted = (signal: CallSignal | undefined): boolean => signal?.aborted === true;

class SetScope implements CallScope {
  readonly set: EndpointSet;
  readonly #calls: Calls;
  readonly #called: CalledEndpoints | undefined;

  constructor(calls: Calls, set: EndpointSet, called?: CalledEndpoints) {
    this.#calls = calls;
    this.set = set;
    this.#called = called;
  }

  find(id: string): Endpoint | undefined {
    const endpoint = this.set.find(id);
    if (endpoint !== undefined) this.#called?.add(endpoint);
    return endpoint;
  }

  describe(id: string): Promise<string | undefined> {
    const endpoint = this.set.find(id) ?? this.set.versioned(id, 'get');
    return Promise.resolve(endpoint && this.#calls.describe(endpoint));
  }

  async call(id: string, { body, depth, deadline, signal, ...input }: NestedCall): Promise<string> {
    const { set } = this;
    const endpoint = this.find(id);
    if (endpoint === undefined) throw endpointNotFound(`${id} is not active`);
    const own = { body, text: body, origin: { depth, deadline }, called: this.#called };
    const nested = { ...own, trace: undefined, caller: undefined, ...input };
    return this.#calls.invoke({ endpoint, set }, nested, signal);
  }
}

class HoldingScope extends SetScope implements Disposable {
  readonly #held = new Map<Endpoint, Disposable>();

  override find(id: string): Endpoint | undefined {
    const endpoint = super.find(id);
    if (endpoint !== undefined && !this.#held.has(endpoint)) this.#held.set(endpoint, endpoint.hold());
    return endpoint;
  }

  [Symbol.dispose](): void {
    for (const held of this.#held.values()) held[Symbol.dispose]();
    this.#held.clear();
  }
}

const JSON_TYPE = 'application/json';
const OF_CLIENT: CallOrigin = { depth: 0, deadline: Infinity };

// Records that are held to the schema of their endpoint: those that it refuses are not run.

/** Those of which `refuse` says why are not run. Gives the answer in their order; never rejects for what it throws. */
async function runOthers(
  records: RecordBlock,
  refuse: (text: string) => Promise<ServiceError | undefined>,
  run: (some: RecordBlock) => Promise<RecordsAnswer>,
): Promise<RecordsAnswer> {
  const refusals = await mapBounded(textsOf(records), AT_ONCE, (text) => refuse(text).catch(toError));
  const left = withoutRefused(records, refusals);
  const answer = left.count === 0 ? [] : await run(left);
  return left.count === records.count ? answer : withRefusals(answer, refusals);
}

const AT_ONCE = 32;

type Refusals = readonly (Error | undefined)[];

/** Gives the answer in their order; never rejects for a check. */
async function runChecked(
  records: RecordBlock,
  run: (some: RecordBlock) => Promise<RecordsAnswer>,
  checks: EndpointChecks,
  call: CheckedCall,
): Promise<RecordsAnswer> {
  let refusals: Refusals | undefined;
  try {
    const checking = checks.inputs(textsOf(records), call);
    refusals = checking === undefined ? undefined : await checking;
  } catch (thrown) {
    const error = toError(thrown);
    return Array.from({ length: records.count }, () => error);
  }
  const left = refusals === undefined ? records : withoutRefused(records, refusals);
  const answer = left.count === 0 ? [] : await run(left);
  if (checks.concernsResults) checks.results(answer.flatMap(resultsOf), call);
  return refusals === undefined || left.count === records.count ? answer : withRefusals(answer, refusals);
}

function withoutRefused(records: RecordBlock, refusals: Refusals): RecordBlock {
  if (refusals.every((each) => each === undefined)) return records;
  const lines = records.text.split('\n').filter((_, i) => refusals[i] === undefined);
  return { text: lines.join('\n'), count: lines.length };
}

function withRefusals(answer: RecordsAnswer, refusals: Refusals): RecordsAnswer {
  const parts = answer.flatMap((part): RecordsPart[] =>
    part instanceof Error || part.count === 1
      ? [part]
      : linesOf(part.lines).map((line) => ({ lines: `${line}\n`, count: 1 })),
  );
  let next = 0;
  return refusals.map((refusal) => refusal ?? parts[next++] ?? new Error('the record has no answer'));
}

const resultsOf = (part: RecordsPart): string[] =>
  part instanceof Error
    ? []
    : linesOf(Buffer.from(part.lines, 'latin1').toString('utf8')).map((line) => line.slice(RESULT_HEAD.length, -1));

const linesOf = (lines: string): string[] => lines.split('\n').slice(0, -1);
