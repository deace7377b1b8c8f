/** Calls of one endpoint, on their way to the schedulers. */
import { bodyNotReadable, executionFailed } from '../../lib/errors.ts';
import { uptime } from '../../lib/uptime.ts';
import { MAX_DEPTH, tooDeep } from '../call-headers.ts';
import type { Call, Executor, RecordsCall } from '../engine.ts';
import { AnswersInOrder, resultLine, withLargeOnesApart } from '../records.ts';
import type { RecordsAnswer } from '../records.ts';
import { Endpoint } from '../sandbox/endpoint.ts';
import type { Scheduler } from '../sandbox/scheduler.ts';

export class JavascriptExecutor implements Executor {
  readonly endpoint: Endpoint;
  readonly #scheduler: Scheduler;
  readonly #records: Scheduler;
  /** The same code, with a track record and a queue of its own. */
  #endpointOfRecords: Endpoint | undefined;

  constructor(endpoint: Endpoint, scheduler: Scheduler, records: Scheduler) {
    this.endpoint = endpoint;
    this.#scheduler = scheduler;
    this.#records = records;
  }

  execute(call: Call): Promise<string> {
    const text = typeof call.body === 'string' ? call.body : call.body.toString('utf8');
    if (call.depth > MAX_DEPTH) return Promise.reject(executionFailed(tooDeep(this.endpoint.id)));
    const input = call.json ? text : JSON.stringify(text);
    // Bodies are joined by NUL on their way; no JSON text holds one.
    if (input.includes('\0'))
      return Promise.reject(bodyNotReadable('The request body is not JSON: it holds a NUL character'));
    const { endpoint } = this;
    const limit = uptime() + endpoint.limit;
    const { deadline } = call;
    return new Promise((resolve, reject) => {
      this.#scheduler.submit(endpoint, {
        input,
        depth: call.depth,
        scope: call.scope,
        trace: call.trace,
        beginBy: limit < deadline ? limit : deadline,
        deadline,
        caller: call.caller ?? '',
        signal: call.signal,
        resolve,
        reject,
      });
    });
  }

  executeRecords({ records, scope, caller = '', signal }: RecordsCall): Promise<RecordsAnswer> {
    const endpoint = this.#ofRecords();
    return new Promise((resolve) => {
      const all = new AnswersInOrder(records.count, resolve);
      const put = (at: number, answer: RecordsAnswer): void => all.put(at, answer);
      // Behind all others, they have the time that it takes, as long as any are answered.
      const common = { depth: 0, scope, beginBy: Infinity, deadline: Infinity, came: uptime(), caller, signal };
      let at = 0;
      for (const block of withLargeOnesApart(records, this.#records.policy.largeCharacters)) {
        const { text, count } = block;
        const place = at;
        at += count;
        const isLarge = text.length > this.#records.policy.largeCharacters && count === 1;
        this.#records.submitRecords(endpoint, {
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
    this.#scheduler.forget(this.endpoint);
    // Also where it had no records itself, those of others may have called it.
    this.#records.forget(this.#ofRecords());
  }

  #ofRecords(): Endpoint {
    return (this.#endpointOfRecords ??= new Endpoint(this.endpoint.parts, this.#records.policy));
  }
}
