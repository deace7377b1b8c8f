/** What a request is called, in its answer, in the log and at runtimes. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { REQUEST_ID_HEADER, STATE_HEADER, TRACE_HEADER } from '../engines/call-headers.ts';
import type { CallTrace } from '../engines/engine.ts';

const REQUEST_ID = /^[A-Za-z0-9._:/+=-]{1,128}$/;
/** https://www.w3.org/TR/trace-context/#traceparent-header */
const TRACE = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** https://www.w3.org/TR/trace-context/#tracestate-header */
const STATE = /^[ -~]{1,512}$/;

export class RequestIds {
  /** Two services, or two starts of one, give no request the same id. */
  readonly #start = `${randomBytes(6).toString('hex')}-`;
  #count = 0;
  /** Where requests are traced: the place of one in its trace. */
  spanOf: ((request: IncomingMessage) => Pick<CallTrace, 'traceparent' | 'tracestate'> | undefined) | undefined;

  /** The client's, where it is one; else an id of its own. */
  readonly of = (request: Pick<IncomingMessage, 'headers'>): string => {
    const given = request.headers[REQUEST_ID_HEADER];
    return typeof given === 'string' && REQUEST_ID.test(given) ? given : this.make();
  };

  make(): string {
    return this.#start + (++this.#count).toString(36);
  }

  /** What goes with a call to whatever runs it. */
  traceOf(request: IncomingMessage, requestId: string): CallTrace {
    const { headers } = request;
    const span = this.spanOf?.(request);
    const given = span === undefined ? headers[TRACE_HEADER] : span.traceparent;
    const traceparent = typeof given === 'string' && TRACE.test(given) ? given : undefined;
    const state = span === undefined ? headers[STATE_HEADER] : span.tracestate;
    return {
      requestId,
      traceparent,
      tracestate: traceparent !== undefined && typeof state === 'string' && STATE.test(state) ? state : undefined,
      // A client may give many requests one id, or that of somebody else's.
      executionId: requestId === headers[REQUEST_ID_HEADER] ? this.make() : requestId,
    };
  }
}
