/** An endpoint at one external runtime that holds it. */
import { executionFailed, messageOf, overloaded } from '../../lib/errors.ts';
import { uptime } from '../../lib/time.ts';
import {
  ANSWERS_ACCEPTED,
  CALLS_TYPE,
  DEADLINE_HEADER,
  DEPTH_HEADER,
  REQUEST_ID_HEADER,
  STATE_HEADER,
  TOKEN_HEADER,
  TRACE_HEADER,
} from '../call-headers.ts';
import { checkJson } from '../check-json.ts';
import type { ActivationContext, Call, CallTrace, EndpointPlan, RecordsCall } from '../engine.ts';
import type { RecordsAnswer } from '../records.ts';
import { activateAt, type ActivatedAt } from './activate-at.ts';
import { failureIn, resultOf } from './answers.ts';
import { CallBatches } from './call-batches.ts';
import { type RequestOptions, RuntimeSilent, RuntimeUnreachable } from './runtime-connections.ts';
import type { ExternalOptions } from './runtime-engine.ts';
import type { Runtime } from './runtime.ts';

const ACCEPT = 'application/json, */*;q=0.5';
/** Bytes of an answer, or of a record of one, in addition to its result. */
const ENVELOPE_BYTES = 64;

export class ExternalEndpoint implements EndpointLocation {
  readonly runtime: Runtime;
  readonly #plan: EndpointPlan;
  readonly #options: ExternalOptions;
  readonly #signal: AbortSignal;
  readonly #batches = new CallBatches((...calls) => this.#sendBatch(...calls));
  #at: ActivatedAt;
  #again: Promise<ActivatedAt> | undefined;

  /** `signal`: the endpoint was replaced. */
  constructor(runtime: Runtime, at: ActivatedAt, plan: EndpointPlan, options: ExternalOptions, signal: AbortSignal) {
    this.runtime = runtime;
    this.#at = at;
    this.#plan = plan;
    this.#options = options;
    this.#signal = signal;
  }

  get closed(): boolean {
    return this.runtime.closed;
  }

  get up(): boolean {
    return this.runtime.up;
  }

  lose(): void {
    this.runtime.lose();
  }

  ask(): void {
    void this.runtime.info();
  }

  release(): void {
    this.runtime.endpoints.release(this.#plan.id);
  }

  async call(call: Call): Promise<string> {
    const sent = call.trace?.span?.goesTo(this.runtime.url);
    if (sent === undefined) return this.#call(call);
    try {
      const result = await this.#call({ ...call, trace: sent.trace });
      sent.end();
      return result;
    } catch (thrown) {
      sent.end(thrown);
      throw thrown;
    }
  }

  async #call(call: Call): Promise<string> {
    if (call.json) checkJson(call.body);
    const deadline = Math.min(uptime() + this.#options.callTimeout, call.deadline);
    const input = call.json ? call.body.toString() : undefined;
    return this.#at.batch && input !== undefined && !input.includes('\0')
      ? this.#batches.call({ input, depth: call.depth, deadline, trace: call.trace, signal: call.signal })
      : this.#single(call, deadline);
  }

  async #single(call: Call, deadline: number): Promise<string> {
    await this.runtime.confirm(deadline - uptime());
    const send = () =>
      this.runtime.request(this.#at.url, {
        ...this.#requestOf(call.body, call.contentType, call.depth, deadline, [call.trace]),
        isGone: () => call.signal?.aborted === true,
      });
    const answer = await send();
    return resultOf(answer.status === 404 ? (await this.#activateAgain(), await send()) : answer);
  }

  async #sendBatch(
    body: string,
    depth: number,
    deadline: number,
    traces: readonly (CallTrace | undefined)[],
    onChunk: (chunk: Buffer) => void,
    isGone: () => boolean,
  ): Promise<void> {
    await this.runtime.confirm(deadline - uptime());
    let refusal = '';
    const send = () =>
      this.runtime.stream(
        this.#at.url,
        { ...this.#requestOf(body, CALLS_TYPE, depth, deadline, traces), isGone },
        (chunk, status) => {
          if (status === 200) onChunk(chunk);
          else refusal += chunk.toString('utf8');
        },
      );
    let { status } = await send();
    if (status === 404) {
      await this.#activateAgain();
      ({ status } = await send());
    }
    if (status !== 200) throw failureIn(status, refusal);
  }

  /**
   * "404 from the runtime means that it lost the endpoint (it restarted): activate again and retry once." All calls
   * that find it lost wait for the same activation.
   */
  async #activateAgain(): Promise<void> {
    const context: ActivationContext = { progress: () => undefined, signal: this.#signal };
    const options = { ...this.#options, activationTimeout: this.#options.callTimeout };
    this.#again ??= activateAt(this.runtime, this.#plan, context, options).finally(() => (this.#again = undefined));
    try {
      this.#at = await this.#again;
    } catch (thrown) {
      if (this.#signal.aborted) throw overloaded(`${this.#plan.id} was replaced meanwhile; try again`);
      if (thrown instanceof RuntimeUnreachable || thrown instanceof RuntimeSilent) throw thrown;
      throw executionFailed(
        `the ${this.runtime.engine} runtime lost the endpoint and did not activate it again: ${messageOf(thrown)}`,
        { cause: thrown },
      );
    }
  }

  #requestOf(
    body: string | Buffer,
    contentType: string,
    depth: number,
    deadline: number,
    traces: readonly (CallTrace | undefined)[],
  ): RequestOptions {
    const left = deadline - uptime();
    if (left <= 0) throw new RuntimeSilent('no time is left for the call');
    return {
      method: 'POST',
      body,
      headers: {
        'content-type': contentType,
        accept: contentType === CALLS_TYPE ? `${ANSWERS_ACCEPTED}, ${ACCEPT}` : ACCEPT,
        [DEPTH_HEADER]: String(depth),
        [DEADLINE_HEADER]: String(left),
        [TOKEN_HEADER]: this.#options.tokens.give({ depth, deadline }),
        ...headersOf(traces),
      },
      timeout: left,
      limit: (this.#options.maxResult + ENVELOPE_BYTES) * traces.length,
      setting: `${this.#options.maxResult} bytes (--max-result)`,
    };
  }
}

/** Gives the headers of calls that share a request: a list in their order, separated by commas. */
function headersOf(traces: readonly (CallTrace | undefined)[]): Record<string, string> {
  const headers: Record<string, string> = {};
  if (traces.some((trace) => trace !== undefined))
    headers[REQUEST_ID_HEADER] = traces.map((trace) => trace?.requestId ?? '').join(',');
  if (traces.some((trace) => trace?.traceparent !== undefined))
    headers[TRACE_HEADER] = traces.map((trace) => trace?.traceparent ?? '').join(',');
  // A tracestate holds commas itself, so several of them cannot share a header.
  const [first] = traces;
  if (traces.length === 1 && first?.tracestate !== undefined) headers[STATE_HEADER] = first.tracestate;
  return headers;
}

export interface EndpointLocation {
  /** It has gone for good. */
  readonly closed: boolean;
  /** False while it cannot be reached. */
  readonly up: boolean;
  /** Gives the result as JSON text. @throws RuntimeUnreachable; RuntimeSilent; AnswerTooLarge; ServiceError. */
  call(call: Call): Promise<string>;
  /** Runs many records, where it can do that quicker than one after the other. Never rejects. */
  callRecords?(call: RecordsCall): Promise<RecordsAnswer>;
  /** It could not be reached. */
  lose(): void;
  /** Asks one that is silent whether it is still there. */
  ask(): void;
  /** The endpoint is no longer needed there. */
  release(): void;
}
