/** Fastify as this service uses it, before it has any rule or route. */
import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import { notFound } from '../lib/errors.ts';
import { answerBrokenRequests } from './broken-requests.ts';
import { sendError } from './errors.ts';
import { badUrl, pathOf } from '../lib/url-path.ts';
import { Methods } from './methods.ts';
import type { RequestIds } from './request-ids.ts';
import { keepTrustedHeaders, trustOf } from './trusted-proxies.ts';

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
): FastifyInstance {
  const methods = new Methods();
  const badUrls = new WeakSet<IncomingMessage>();
  const trusts = trustProxy && trustOf(trustProxy);
  const app = Fastify({
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
    http: {
      // `host-header.ts` says it in words.
      requireHostHeader: false,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, limits.request),
      connectionsCheckingInterval: 1000,
    },
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
