/** Spans of requests, whether the router sees them or not. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { STATE_HEADER, TRACE_HEADER } from '../engines/call-headers.ts';
import { pathOf } from '../lib/url-path.ts';
import type { Span, Tracer } from '../tracing/tracer.ts';
import type { FastPath } from './fast-path.ts';
import type { RequestIds } from './request-gate.ts';

const MAX_PATH_LENGTH = 300;
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** `fast`: by method, the route of requests that the router does not see. @returns what is to see each request first. */
export function traceRequests(
  app: FastifyInstance,
  tracer: Tracer,
  ids: RequestIds,
  fast: ReadonlyMap<string, string>,
): FastPath {
  const spans = new WeakMap<IncomingMessage, Span>();
  const routed = new WeakSet<IncomingMessage>();
  ids.spanOf = (request) => spans.get(request);
  app.addHook('onRequest', (request, _reply, done) => {
    const { url } = request.routeOptions;
    const span = spans.get(request.raw);
    routed.add(request.raw);
    if (span !== undefined && url !== undefined) route(span, request.method, url);
    done();
  });
  // As late as the audit asks who it is: what reads a body goes on from the socket.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request.raw);
    if (span === undefined) done();
    else tracer.within(span, done);
  });
  return (request, response, next) => {
    const { method = '', url = '', headers } = request;
    const [traceparent, tracestate] = [headers[TRACE_HEADER], headers[STATE_HEADER]];
    const known = METHODS.has(method) ? method : '_OTHER';
    const span = tracer.start(known, {
      kind: 'server',
      parent: {
        traceparent: typeof traceparent === 'string' ? traceparent : undefined,
        tracestate: typeof tracestate === 'string' ? tracestate : undefined,
      },
      facts: {
        'http.request.method': known,
        'url.path': pathOf(url).slice(0, MAX_PATH_LENGTH),
        'url.scheme': 'http',
        'network.protocol.version': request.httpVersion,
      },
    });
    spans.set(request, span);
    response.once('close', () => {
      const { statusCode, writableFinished } = response;
      const unseen = routed.has(request) ? undefined : fast.get(method);
      if (unseen !== undefined) route(span, known, unseen);
      if (writableFinished) span.set({ 'http.response.status_code': statusCode });
      span.end(!writableFinished ? 'client-gone' : statusCode >= 500 ? String(statusCode) : undefined);
    });
    next(request, response);
  };
}

function route(span: Span, method: string, url: string): void {
  span.name(`${method} ${url}`);
  span.set({ 'http.route': url });
}
