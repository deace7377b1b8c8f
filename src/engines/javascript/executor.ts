/** Calls of one endpoint, on their way to the schedulers. */
import { bodyNotReadable, executionFailed, toError } from '../../lib/errors.ts';
import { uptime } from '../../lib/time.ts';
import { MAX_DEPTH, tooDeep } from '../call-headers.ts';
import type { Call, Executor, RecordsCall } from '../engine.ts';
import { AnswersInOrder, type RecordsAnswer, resultLine, withLargeOnesApart } from '../records.ts';
import { Endpoint } from '../supervisor/endpoint.ts';
import type { Policy } from '../supervisor/policy.ts';
import type { Pool } from '../supervisor/pool.ts';
import { UNANSWERED_MS } from '../supervisor/waiting-work.ts';
import type { GroupProcesses } from './engine.ts';
import type { ProcessGroups } from './process-groups.ts';

export class JavascriptExecutor implements Executor {
  readonly endpoint: Endpoint;
  /** Of whose processes its calls run in. */
  readonly group: string;
  readonly #groups: ProcessGroups<GroupProcesses>;
  readonly #policyForRecords: Policy;
  /** The same code, with a track record and a queue of its own. */
  #endpointOfRecords: Endpoint | undefined;

  constructor(endpoint: Endpoint, group: string, groups: ProcessGroups<GroupProcesses>, policyForRecords: Policy) {
    this.endpoint = endpoint;
    this.group = group;
    this.#groups = groups;
    this.#policyForRecords = policyForRecords;
  }

  execute(call: Call): Promise<string> {
    const text = typeof call.body === 'string' ? call.body : call.body.toString('utf8');
    if (call.depth > MAX_DEPTH) return Promise.reject(executionFailed(tooDeep(this.endpoint.id)));
    const input = call.json ? text : JSON.stringify(text);
    // Bodies are joined by NUL on their way; no JSON text holds one.
    if (input.includes('\0'))
      return Promise.reject(bodyNotReadable('The request body is not JSON: it holds a NUL character'));
    const limit = uptime() + this.endpoint.limit;
    const beginBy = limit < call.deadline ? limit : call.deadline;
    const { shared } = this.#groups;
    if (shared !== undefined) return this.#submit(shared.calls, call, input, beginBy);
    const wait = { id: this.endpoint.id, by: beginBy, isNested: call.depth > 0 };
    return this.#groups.run(this.group, wait, ({ calls }) => this.#submit(calls, call, input, beginBy));
  }

  #submit(scheduler: Pool, call: Call, input: string, beginBy: number): Promise<string> {
    const { deadline } = call;
    return new Promise((resolve, reject) => {
      scheduler.submit(this.endpoint, {
        input,
        depth: call.depth,
        scope: call.scope,
        trace: call.trace,
        beginBy,
        deadline,
        caller: call.caller ?? '',
        signal: call.signal,
        resolve,
        reject,
      });
    });
  }

  async executeRecords(call: RecordsCall): Promise<RecordsAnswer> {
    const wait = { id: this.endpoint.id, by: uptime() + this.endpoint.limit + UNANSWERED_MS, isNested: false };
    try {
      return await this.#groups.run(this.group, wait, ({ records }) => this.#submitRecords(records, call));
    } catch (thrown) {
      return Array.from({ length: call.records.count }, () => toError(thrown));
    }
  }

  #submitRecords(scheduler: Pool, { records, scope, caller = '', signal }: RecordsCall): Promise<RecordsAnswer> {
    const endpoint = this.#ofRecords();
    const { largeCharacters } = this.#policyForRecords;
    return new Promise((resolve) => {
      const all = new AnswersInOrder(records.count, resolve);
      const put = (at: number, answer: RecordsAnswer): void => all.put(at, answer);
      // Behind all others, they have the time that it takes, as long as any are answered.
      const common = { depth: 0, scope, beginBy: Infinity, deadline: Infinity, came: uptime(), caller, signal };
      let at = 0;
      for (const block of withLargeOnesApart(records, largeCharacters)) {
        const { text, count } = block;
        const place = at;
        at += count;
        const isLarge = text.length > largeCharacters && count === 1;
        scheduler.submitRecords(endpoint, {
          ...common,
          input: isLarge ? Buffer.from(text, 'latin1').toString('utf8') : text,
          ...(isLarge ? {} : { records: { at: place, count, put } }),
          resolve: (result) => put(place, [resultLine(result)]),
          reject: (error) => put(place, [error]),
        });
      }
    });
  }

  dispose(): void {
    // Calls may still wait for the processes.
    this.endpoint.disposed = this.#ofRecords().disposed = true;
    const group = this.#groups.get(this.group);
    group?.calls.forget(this.endpoint);
    // Also where it had no records itself, those of others may have called it.
    group?.records.forget(this.#ofRecords());
  }

  #ofRecords(): Endpoint {
    return (this.#endpointOfRecords ??= new Endpoint(this.endpoint.parts, this.#policyForRecords));
  }
}

export class LaterExecutor implements Executor {
  /** Undefined before the first call. */
  loaded: JavascriptExecutor | undefined;
  readonly #load: () => Promise<JavascriptExecutor>;
  #loading: Promise<JavascriptExecutor> | undefined;
  #isDisposed = false;

  constructor(load: () => Promise<JavascriptExecutor>) {
    this.#load = load;
  }

  execute(call: Call): Promise<string> {
    return this.loaded?.execute(call) ?? this.#read().then((executor) => executor.execute(call));
  }

  async executeRecords(call: RecordsCall): Promise<RecordsAnswer> {
    try {
      return await (await this.#read()).executeRecords(call);
    } catch (thrown) {
      return Array.from({ length: call.records.count }, () => toError(thrown));
    }
  }

  dispose(): void {
    this.#isDisposed = true;
    this.loaded?.dispose();
  }

  /** Again, where it could not be read. */
  #read(): Promise<JavascriptExecutor> {
    this.#loading ??= this.#load().then(
      (executor) => {
        this.loaded = executor;
        if (this.#isDisposed) executor.dispose();
        return executor;
      },
      (thrown: unknown) => {
        this.#loading = undefined;
        throw thrown;
      },
    );
    return this.#loading;
  }
}
