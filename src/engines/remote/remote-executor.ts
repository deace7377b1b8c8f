/** Calls an endpoint where it is held: in turn, where that is at several places. */
import { executionFailed, invalidResult, overloaded, runtimeSilent, runtimeUnreachable } from '../../lib/errors.ts';
import type { Call, EndpointPlan, Executor, RecordsCall } from '../engine.ts';
import type { RecordsAnswer } from '../records.ts';
import type { ActivatedAt } from './activate-at.ts';
import type { CallPlace } from './call-place.ts';
import { Holder } from './holder.ts';
import type { RemoteOptions } from './remote-options.ts';
import { MAX_DEPTH, tooDeep } from '../call-headers.ts';
import { AnswerTooLarge, RuntimeSilent, RuntimeUnreachable } from './runtime-connections.ts';
import type { Runtime } from './runtime.ts';

/** Milliseconds without an answer after which a runtime is asked. */
const SILENCE_GRACE_MS = 1000;

export class RemoteExecutor implements Executor {
  readonly #plan: EndpointPlan;
  readonly #options: RemoteOptions;
  readonly #places: CallPlace[] = [];
  readonly #abort = new AbortController();
  #turn = 0;
  #waiting = 0;

  constructor(plan: EndpointPlan, options: RemoteOptions) {
    this.#plan = plan;
    this.#options = { ...options, callTimeout: plan.options.timeout ?? options.callTimeout };
  }

  add(runtime: Runtime, at: ActivatedAt): void {
    this.addPlace(new Holder(runtime, at, this.#plan, this.#options, this.#abort.signal));
  }

  addPlace(place: CallPlace): void {
    this.#places.push(place);
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
    const place = this.#places.find((each) => each.callRecords !== undefined);
    return place?.callRecords?.bind(place);
  }

  async #anywhere(call: Call): Promise<string> {
    const known = this.#places.filter(({ closed }) => !closed);
    const up = known.filter((each) => each.up);
    const places = up.length > 0 ? up : known;
    const first = this.#turn++ % Math.max(1, places.length);
    let unreachable: unknown;
    for (let i = 0; i < places.length; i++) {
      const place = places[(first + i) % places.length];
      if (place === undefined) break;
      try {
        return await (places.length > 1 ? watched(place, call) : place.call(call));
      } catch (thrown) {
        // A connection that was refused has carried nothing, so another runtime may be asked.
        if (!(thrown instanceof RuntimeUnreachable) || !wasRefused(thrown)) throw toServiceError(thrown);
        place.lose();
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
      for (const place of this.#places) place.release();
    };
    // Calls that have begun may still be on their way there.
    setTimeout(release, this.#options.callTimeout).unref();
  }
}

/** Where another could take the calls, one that is silent is asked whether it is still there. */
async function watched(place: CallPlace, call: Call): Promise<string> {
  const timer = setTimeout(() => place.ask(), SILENCE_GRACE_MS);
  try {
    return await place.call(call);
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
