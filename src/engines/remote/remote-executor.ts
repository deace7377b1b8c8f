/** Calls an endpoint at the runtimes that hold it. */
import {
  bodyNotReadable,
  executionFailed,
  messageOf,
  overloaded,
  runtimeSilent,
  runtimeUnreachable,
} from '../../lib/errors.ts';
import type { Call, EndpointPlan, Executor } from '../engine.ts';
import type { ActivatedAt } from './activate-at.ts';
import { Holder } from './holder.ts';
import type { RemoteOptions } from './remote-options.ts';
import { MAX_DEPTH, tooDeep } from '../call-headers.ts';
import { AnswerTooLarge, RuntimeSilent, RuntimeUnreachable } from './runtime.ts';
import type { Runtime } from './runtime.ts';

/** Milliseconds without an answer after which a runtime is asked. */
const SILENCE_GRACE_MS = 1000;

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

  add(runtime: Runtime, at: ActivatedAt): void {
    this.#holders.push(new Holder(runtime, at, this.#plan, this.#options, this.#abort.signal));
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
    const known = this.#holders.filter(({ runtime }) => !runtime.closed);
    const up = known.filter(({ runtime }) => runtime.up);
    const holders = up.length > 0 ? up : known;
    const first = this.#turn++ % Math.max(1, holders.length);
    let unreachable: unknown;
    for (let i = 0; i < holders.length; i++) {
      const holder = holders[(first + i) % holders.length];
      if (holder === undefined) break;
      try {
        return await (holders.length > 1 ? watched(holder, call) : holder.call(call));
      } catch (thrown) {
        // A connection that was refused has carried nothing, so another runtime may be asked.
        if (!(thrown instanceof RuntimeUnreachable) || !wasRefused(thrown)) throw toServiceError(thrown);
        holder.runtime.lose();
        unreachable = thrown;
      }
    }
    throw toServiceError(
      unreachable ?? new RuntimeUnreachable(`no ${this.#plan.engine} runtime holds ${this.#plan.id}`),
    );
  }

  dispose(): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    const release = (): void => {
      for (const { runtime } of this.#holders) runtime.endpoints.release(this.#plan.id);
    };
    // Calls that have begun may still be on their way there.
    setTimeout(release, this.#options.callTimeout).unref();
  }
}

/** Where another runtime could take the calls, one that is silent is asked whether it is still there. */
async function watched(holder: Holder, call: Call): Promise<string> {
  const timer = setTimeout(() => void holder.runtime.info(), SILENCE_GRACE_MS);
  try {
    return await holder.call(call);
  } finally {
    clearTimeout(timer);
  }
}

function checkJson(body: string | Buffer): void {
  try {
    JSON.parse(body.toString());
  } catch (thrown) {
    throw bodyNotReadable(`The request body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
}

const wasRefused = (thrown: Error): boolean =>
  ['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENOTFOUND'].includes(
    (thrown.cause as { code?: string } | undefined)?.code ?? '',
  );

function toServiceError(thrown: unknown): unknown {
  if (thrown instanceof RuntimeSilent)
    return runtimeSilent(`Code execution error: ${thrown.message}`, { cause: thrown });
  if (thrown instanceof RuntimeUnreachable)
    return runtimeUnreachable(`Code execution error: ${thrown.message}`, { cause: thrown });
  if (thrown instanceof AnswerTooLarge) return executionFailed(thrown.message, { cause: thrown });
  return thrown;
}
