/** Fastify as this service uses it, before it has any rule or route. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config/config.ts';
import type { ProxyTrust } from '../config/proxy-trust.ts';
import { notFound } from '../lib/errors.ts';
import { badUrl, pathOf } from '../lib/url-path.ts';
import { requestErrorBody, sendError, toServiceError } from './errors.ts';
import { ERROR_HEADER } from './headers.ts';
import { Methods } from './methods.ts';
import type { TlsContext } from './tls.ts';
import type { RequestIds } from './request-gate.ts';

/** Paths of a package can be long; the router's own limit is 100 characters a segment. */
const MAX_SEGMENT_CHARACTERS = 1024;
const HEADERS_TIMEOUT_MS = 10_000;
/** More than what proxies keep connections open for, so that they close first. */
const KEEP_ALIVE_MS = 65_000;

/** Routes check by code of their own; the compilers of schemas are a tenth of the processor time of a start. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

function noSchemas(): never {
  throw new TypeError('Routes have no schemas here');
}

export function createFastify(
  { limits, trustProxy }: Config,
  ids: RequestIds,
  log: FastifyBaseLogger,
  streaming: { has(socket: Socket): boolean },
  tls?: TlsContext,
): FastifyInstance {
  const methods = new Methods();
  const badUrls = new WeakSet<IncomingMessage>();
  const trusts = trustProxy && trustOf(trustProxy);
  const http = {
    // `host-header.ts` says it in words.
    requireHostHeader: false,
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, limits.request),
    connectionsCheckingInterval: 1000,
  };
  const app: FastifyInstance = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // A logger for each request would cost more than most requests log; what is logged names the request's id. Set here,
    // as what the router refuses would not know of it later.
    childLoggerFactory: (logger) => logger,
    ...(trusts && { trustProxy: trusts }),
    bodyLimit: limits.body,
    requestTimeout: limits.upload,
    keepAliveTimeout: KEEP_ALIVE_MS,
    exposeHeadRoutes: false,
    // What comes on open connections while the service stops is answered, and its connection closed.
    return503OnClosing: false,
    schemaController: NO_SCHEMAS,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_SEGMENT_CHARACTERS },
    ...(tls === undefined ? { http } : { https: { ...http, ...tls } }),
    // The router refused the request before any route was known.
    frameworkErrors: (error, request, reply) => void sendError(request, reply, error),
    rewriteUrl: (request) => {
      if (trusts !== undefined) keepTrustedHeaders(request, trusts);
      const url = methods.rewriteUrl(request);
      if (isDecodable(pathOf(url))) return url;
      // The router would refuse it without a look at its route, which knows how errors are worded there.
      badUrls.add(request);
      return url.replaceAll('%', '%25');
    },
    genReqId: ids.of,
    clientErrorHandler: answerBrokenRequests(ids, streaming),
  });
  methods.install(app);
  app.addHook('onRequest', ({ raw, originalUrl }, _reply, done) => {
    done(badUrls.has(raw) ? badUrl(pathOf(originalUrl)) : undefined);
  });
  app.server.maxConnections = limits.connections;
  app.setErrorHandler((error, request, reply) => sendError(request, reply, error));
  app.setNotFoundHandler((request, reply) =>
    sendError(request, reply, notFound(`There is nothing at ${pathOf(request.url)}`)),
  );
  return app;
}

function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURI(path);
    return true;
  } catch {
    return false;
  }
}

// What is not HTTP, is too slow or has headers that are too large never becomes a request.

/** For the `clientError` of a server. `streaming`: connections on which an answer goes out while its request comes in. */
function answerBrokenRequests(
  ids: RequestIds,
  streaming: { has(socket: Socket): boolean },
): (error: Error & { code?: string }, socket: Socket) => void {
  return (error, socket) => {
    if (streaming.has(socket)) {
      // Those may arrive as long as they like, and an answer has begun already.
      if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroy();
      return;
    }
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = STATUS_BY_CODE[error.code ?? ''] ?? 400;
    const refusal = toServiceError({
      statusCode: status,
      message: MESSAGES[status] ?? 'The request is not valid HTTP',
    });
    const body = requestErrorBody(refusal, '');
    const head = [
      `HTTP/1.1 ${requestErrorStatus(body)}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${ids.make()}`,
      `${ERROR_HEADER}: ${refusal.code}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  };
}

const STATUS_BY_CODE: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };
const MESSAGES: Readonly<Record<number, string>> = {
  408: 'The request did not arrive in time',
  431: 'The headers of the request are too large',
};
const requestErrorStatus = (body: string): string => (JSON.parse(body) as { Status: string }).Status;

// Connections on which nothing moves.

const SILENT_MS = 120_000;

/**
 * Closes connections on which nothing moves, such as that of a client that does not read its answer. A connection whose
 * answer is not there yet stays open: what works on the answer has a limit of its own.
 */
export function closeSilentConnections(server: Server, milliseconds = SILENT_MS): void {
  const latest = new WeakMap<Socket, ServerResponse>();
  server.on('request', (request, response) => void latest.set(request.socket, response));
  server.setTimeout(milliseconds);
  server.on('timeout', (socket: Socket) => {
    const answer = latest.get(socket);
    const isAwaited = answer?.writableEnded === false && answer.writableLength === 0;
    if (!isAwaited) socket.destroy();
  });
}

// Leaves of the `X-Forwarded-*` headers of a request only what proxies that are trusted say.

/** Whether the proxy with that address is trusted; the nearest has the hop 0. */
type TrustsProxy = (address: string, hop: number) => boolean;

/** What each proxy on the way may have added a value to. */
const LISTS = ['x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port', 'x-forwarded-prefix'];
const ADDRESSES = 'x-forwarded-for';
/** Addresses that are looked at, and characters. */
const MOST_PROXIES = 32;
const MOST_CHARACTERS = 2048;

function trustOf({ hops, networks }: ProxyTrust): TrustsProxy {
  if (networks.length === 0) return (_address, hop) => hop < hops;
  const ranges = networks.map((each) => ipaddr.parseCIDR(each));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits));
  };
}

function keepTrustedHeaders(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  trusts: TrustsProxy,
): void {
  if (!trusts(socket.remoteAddress ?? '', 0)) {
    for (const name of [ADDRESSES, ...LISTS]) delete headers[name];
    return;
  }
  // From the right: each proxy adds the address that it was asked from, and the first who is not trusted could write all before it.
  const kept: string[] = [];
  let trusted = 1;
  for (const written of valuesOf(headers[ADDRESSES]).toReversed()) {
    const address = addressIn(written);
    if (address === undefined) break;
    kept.unshift(address);
    if (!trusts(address, trusted)) break;
    trusted++;
  }
  if (kept.length > 0) headers[ADDRESSES] = kept.join(', ');
  else delete headers[ADDRESSES];
  for (const name of LISTS) {
    const values = valuesOf(headers[name]);
    if (values.length > trusted) headers[name] = values.slice(-trusted).join(', ');
  }
}

function valuesOf(header: string | string[] | undefined): string[] {
  if (header === undefined) return [];
  const values = String(header).slice(-MOST_CHARACTERS).split(',');
  return values.slice(-MOST_PROXIES).map((each) => each.trim());
}

/** Some proxies write a port behind it. */
function addressIn(text: string): string | undefined {
  const [, v6, v4] = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::\d{1,5})?$/i.exec(text) ?? [];
  const address = v6 ?? v4 ?? text;
  if (!/^[\da-f:.]{2,45}$/i.test(address)) return undefined;
  const isAddress = address.includes(':') ? ipaddr.IPv6.isValid(address) : ipaddr.IPv4.isValidFourPartDecimal(address);
  return isAddress ? ipaddr.process(address).toString() : undefined;
}
