/** Calls an endpoint at the runtimes that hold it. */
import {
  bodyNotReadable,
  executionFailed,
  messageOf,
  overloaded,
  runtimeSilent,
  runtimeUnreachable,
} from '../../lib/errors.ts';
import type { ActivationContext, Call, EndpointPlan, Executor } from '../engine.ts';
import { activateAt } from './activate-at.ts';
import type { RemoteOptions } from './remote-engine.ts';
import { DEADLINE_HEADER, DEPTH_HEADER, MAX_DEPTH, tooDeep } from '../call-headers.ts';
import { AnswerTooLarge, RuntimeSilent, RuntimeUnreachable } from './runtime.ts';
import type { Runtime, RuntimeAnswer } from './runtime.ts';

interface Holder {
  readonly runtime: Runtime;
  target: string;
}

export class RemoteExecutor implements Executor {
  readonly #plan: EndpointPlan;
  readonly #options: RemoteOptions;
  readonly #holders: Holder[] = [];
  readonly #abort = new AbortController();
  #turn = 0;
  #waiting = 0;

  constructor(plan: EndpointPlan, options: RemoteOptions) {
    this.#plan = plan;
    this.#options = options;
  }

  add(runtime: Runtime, target: string): void {
    this.#holders.push({ runtime, target });
  }

  async execute(call: Call): Promise<string> {
    if (call.depth > MAX_DEPTH) throw executionFailed(tooDeep(this.#plan.id));
    if (call.json) checkJson(call.body);
    if (this.#waiting >= this.#options.queueLimit)
      throw overloaded(`${this.#options.queueLimit} calls wait for ${this.#plan.id} already; try again later`);
    this.#waiting++;
    try {
      return await this.#anywhere(call);
    } finally {
      this.#waiting--;
    }
  }

  async #anywhere(call: Call): Promise<string> {
    const up = this.#holders.filter(({ runtime }) => runtime.up);
    const holders = up.length > 0 ? up : this.#holders;
    const first = this.#turn++ % Math.max(1, holders.length);
    let unreachable: unknown;
    for (let i = 0; i < holders.length; i++) {
      const holder = holders[(first + i) % holders.length];
      if (holder === undefined) break;
      try {
        return await this.#callAt(holder, call);
      } catch (thrown) {
        // A connection that was refused has carried nothing, so another runtime may be asked.
        if (!(thrown instanceof RuntimeUnreachable) || !wasRefused(thrown)) throw inWords(thrown);
        holder.runtime.up = false;
        unreachable = thrown;
      }
    }
    throw inWords(unreachable ?? new RuntimeUnreachable(`no ${this.#plan.engine} runtime holds ${this.#plan.id}`));
  }

  dispose(): void {
    this.#abort.abort();
  }

  async #callAt(holder: Holder, call: Call): Promise<string> {
    let answer = await this.#post(holder, call);
    if (answer.status === 404) {
      // "404 from the runtime means that it lost the endpoint (it restarted): activate again and retry once."
      const context: ActivationContext = { progress: () => undefined, signal: this.#abort.signal };
      holder.target = await activateAt(holder.runtime, this.#plan, context, {
        ...this.#options,
        activationTimeout: this.#options.callTimeout,
      });
      answer = await this.#post(holder, call);
    }
    return resultOf(answer);
  }

  #post({ runtime, target }: Holder, call: Call): Promise<RuntimeAnswer> {
    const left = Math.min(this.#options.callTimeout, call.deadline - Date.now());
    if (left <= 0) throw new RuntimeSilent('no time is left for the call');
    return runtime.call(target, {
      method: 'POST',
      body: call.body,
      headers: {
        'content-type': call.contentType,
        accept: 'application/json, */*;q=0.5',
        [DEPTH_HEADER]: String(call.depth),
        [DEADLINE_HEADER]: String(left),
      },
      timeout: left,
      limit: this.#options.maxResult,
    });
  }
}

function checkJson(body: string | Buffer): void {
  try {
    JSON.parse(body.toString());
  } catch (thrown) {
    throw bodyNotReadable(`The request body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** "If the answer is JSON with `result`, that is the result; other JSON is the result itself; anything else is the result as a string." */
function resultOf({ status, contentType, body }: RuntimeAnswer): string {
  const text = body.toString('utf8');
  const value = /json/i.test(contentType) ? parsed(text) : undefined;
  if (status >= 300) throw failureOf(status, value, text);
  if (value === undefined) return JSON.stringify(text);
  return isObject(value) && 'result' in value ? JSON.stringify(value['result']) : text;
}

/** "The existing node runtime reports an exception as 400 `{description}`, the python runtime as 500: both are code execution failures." */
function failureOf(status: number, value: unknown, text: string): Error {
  const said = isObject(value) ? value : {};
  const words =
    [said['description'], said['error'], said['status']].find(
      (each): each is string => typeof each === 'string' && each !== '',
    ) ?? text.slice(0, 500);
  if (status === 503) return overloaded(`the runtime is busy: ${words}`);
  return executionFailed(words === '' ? `the runtime answered ${status}` : words);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const wasRefused = (thrown: Error): boolean =>
  ['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENOTFOUND'].includes(
    (thrown.cause as { code?: string } | undefined)?.code ?? '',
  );

function inWords(thrown: unknown): unknown {
  if (thrown instanceof RuntimeSilent)
    return runtimeSilent(`Code execution error: ${thrown.message}`, { cause: thrown });
  if (thrown instanceof RuntimeUnreachable)
    return runtimeUnreachable(`Code execution error: ${thrown.message}`, { cause: thrown });
  if (thrown instanceof AnswerTooLarge) return executionFailed(thrown.message, { cause: thrown });
  return thrown;
}
