/** Calls an endpoint at its locations, in turn. */
import { executionFailed, invalidResult, overloaded, runtimeSilent, runtimeUnreachable } from '../../lib/errors.ts';
import type { Call, EndpointPlan, Executor, RecordsCall } from '../engine.ts';
import type { RecordsAnswer } from '../records.ts';
import type { ActivatedAt } from './activate-at.ts';
import { type EndpointLocation, ExternalEndpoint } from './external-endpoint.ts';
import type { ExternalOptions } from './runtime-engine.ts';
import { MAX_DEPTH, tooDeep } from '../call-headers.ts';
import { AnswerTooLarge, RuntimeSilent, RuntimeUnreachable } from './runtime-connections.ts';
import type { Runtime } from './runtime.ts';

/** Milliseconds without an answer after which a runtime is asked. */
const SILENCE_GRACE_MS = 1000;

export class RuntimeExecutor implements Executor {
  readonly #plan: EndpointPlan;
  readonly #options: ExternalOptions;
  readonly #locations: EndpointLocation[] = [];
  readonly #abort = new AbortController();
  #turn = 0;
  #waiting = 0;

  constructor(plan: EndpointPlan, options: ExternalOptions) {
    this.#plan = plan;
    this.#options = { ...options, callTimeout: plan.options.timeout ?? options.callTimeout };
  }

  add(runtime: Runtime, at: ActivatedAt): void {
    this.addLocation(new ExternalEndpoint(runtime, at, this.#plan, this.#options, this.#abort.signal));
  }

  addLocation(location: EndpointLocation): void {
    this.#locations.push(location);
  }

  async execute(call: Call): Promise<string> {
    if (call.depth > MAX_DEPTH) throw executionFailed(tooDeep(this.#plan.id));
    if (this.#waiting >= this.#options.queueLimit)
      throw overloaded(`${this.#options.queueLimit} calls wait for ${this.#plan.id} already; try again later`);
    this.#waiting++;
    try {
      return await this.#anywhere(call);
    } finally {
      this.#waiting--;
    }
  }

  get executeRecords(): ((call: RecordsCall) => Promise<RecordsAnswer>) | undefined {
    const location = this.#locations.find((each) => each.callRecords !== undefined);
    return location?.callRecords?.bind(location);
  }

  async #anywhere(call: Call): Promise<string> {
    const known = this.#locations.filter(({ closed }) => !closed);
    const up = known.filter((each) => each.up);
    const locations = up.length > 0 ? up : known;
    const first = this.#turn++ % Math.max(1, locations.length);
    let unreachable: unknown;
    for (let i = 0; i < locations.length; i++) {
      const location = locations[(first + i) % locations.length];
      if (location === undefined) break;
      try {
        return await (locations.length > 1 ? watched(location, call) : location.call(call));
      } catch (thrown) {
        // A connection that was refused has carried nothing, so another runtime may be asked.
        if (!(thrown instanceof RuntimeUnreachable) || !wasRefused(thrown)) throw toServiceError(thrown);
        location.lose();
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
      for (const location of this.#locations) location.release();
    };
    // Running calls may still need it until their limit.
    setTimeout(release, this.#options.callTimeout).unref();
  }
}

/** Asks a location that is silent whether it is still there, since another could take its calls. */
async function watched(location: EndpointLocation, call: Call): Promise<string> {
  const timer = setTimeout(() => location.ask(), SILENCE_GRACE_MS);
  try {
    return await location.call(call);
  } finally {
    clearTimeout(timer);
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
  if (thrown instanceof AnswerTooLarge) return invalidResult(thrown.message, { cause: thrown });
  return thrown;
}
