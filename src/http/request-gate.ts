/**
 * What every request meets, whether the router sees it or the fast path answers it: it is counted and gets its name,
 * may need a login, and where it is refused the answer has one form.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import { REQUEST_ID_HEADER, STATE_HEADER, TRACE_HEADER } from '../engines/call-headers.ts';
import type { CallTrace } from '../engines/engine.ts';
import type { Requests, RequestSeries } from '../metrics/measured.ts';
import { corsHeadersFor, type HeaderList } from './access/cors.ts';
import { answerOf } from './errors.ts';
import { EXECUTION_ID_HEADER } from './headers.ts';

// What a request is called, in its answer, in the log and at runtimes.

const REQUEST_ID = /^[A-Za-z0-9._:/+=-]{1,128}$/;
/** https://www.w3.org/TR/trace-context/#traceparent-header */
const TRACE = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** https://www.w3.org/TR/trace-context/#tracestate-header */
const STATE = /^[ -~]{1,512}$/;

/** As it came. */
export interface SaidTrace {
  readonly traceparent: unknown;
  readonly tracestate: unknown;
}

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

  /** What goes with a call to whatever runs it. `said`: by a protocol whose calls name their trace themselves. */
  traceOf(request: IncomingMessage, requestId: string, said?: SaidTrace): CallTrace {
    const { headers } = request;
    const span = said ?? this.spanOf?.(request);
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

export interface RequestGateOptions {
  /** Takes what each request took. */
  readonly requests: Requests;
  readonly log: FastifyBaseLogger;
}

/** A request that the router never sees. */
export interface EnteredRequest {
  readonly id: string;
  /** When it came, by `performance.now()`. */
  readonly start: number;
  /** Of the route whose answer it gets. */
  readonly series: RequestSeries;
}

export class RequestGate {
  readonly ids = new RequestIds();
  readonly #options: RequestGateOptions;
  #requests = 0;

  constructor(options: RequestGateOptions) {
    this.#options = options;
  }

  /** Requests so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Counts a request that is about to be answered. */
  count(): void {
    this.#requests++;
  }

  /** Counts a request that the router never sees, and gives its name. */
  enter(request: IncomingMessage): string {
    this.#requests++;
    return this.ids.of(request);
  }

  /** What is measured of requests to a route; to none where it is left out. */
  seriesOf(route: string | undefined, method: string | undefined): RequestSeries {
    return this.#options.requests.of(route, method);
  }

  /** What any answer to a read or an execution has. */
  headers(request: Pick<IncomingMessage, 'headers' | 'method'>, requestId: string): HeaderList {
    return ['x-content-type-options', 'nosniff', REQUEST_ID_HEADER, requestId, ...corsHeadersFor(request)];
  }

  /** What any answer of a call has. */
  executionHeaders(
    request: Pick<IncomingMessage, 'headers' | 'method'>,
    { requestId, executionId }: CallTrace,
  ): HeaderList {
    return [
      'x-content-type-options',
      'nosniff',
      REQUEST_ID_HEADER,
      requestId,
      EXECUTION_ID_HEADER,
      executionId,
      ...corsHeadersFor(request),
    ];
  }

  /** Answers a request that the router never sees with an error. Throws nothing: nobody would catch it. */
  refuse(
    request: IncomingMessage,
    response: ServerResponse,
    { id, start, series }: EnteredRequest,
    thrown: unknown,
    more: OutgoingHttpHeaders = {},
  ): void {
    try {
      const { status, headers, body } = answerOf(
        thrown,
        { url: request.url ?? '', requestId: id, executionId: idIn(more), accept: request.headers.accept },
        this.#options.log,
      );
      const cors = corsHeadersFor(request);
      for (let i = 1; i < cors.length; i += 2) response.setHeader(String(cors[i - 1]), String(cors[i]));
      response.writeHead(status, { ...headers, ...more, 'content-length': Buffer.byteLength(body) });
      response.end(body);
      series.observe(status, (performance.now() - start) / 1000);
    } catch (fault) {
      this.#breakOff(response, id, fault);
    }
  }

  /** Ends a request of which something was thrown that no part of it caught. */
  fail(request: IncomingMessage, response: ServerResponse, thrown: unknown): void {
    const id = this.ids.of(request);
    if (response.headersSent) this.#breakOff(response, id, thrown);
    else
      this.refuse(
        request,
        response,
        { id, start: performance.now(), series: this.seriesOf(undefined, request.method) },
        thrown,
      );
  }

  #breakOff(response: ServerResponse, requestId: string, err: unknown): void {
    this.#options.log.error({ requestId, err, code: 'internal' }, 'an answer broke off');
    response.destroy();
  }
}

const idIn = (headers: OutgoingHttpHeaders): string | undefined => {
  const id = headers[EXECUTION_ID_HEADER];
  return typeof id === 'string' ? id : undefined;
};
