/**
 * CORS. Any origin may read the shelf and execute: nothing of that depends on cookies or on where the caller sits in a
 * network, and a page must know credentials itself to send them, since `*` never lets a browser add its own. What the
 * actuator tells of the service, which in the dev profile needs no login, is for listed origins only.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { pathOf } from '../../lib/url-path.ts';
import { isChange } from '../../identity/permissions.ts';
import type { Permission } from '../../identity/permissions.ts';

/** Headers in the form that `writeHead` takes: name, value, name, value. */
export type HeaderList = readonly string[];

const EXPOSED = [
  'access-control-expose-headers',
  [
    'Accept-Ranges',
    'Allow',
    'Content-Disposition',
    'Content-Location',
    'Content-Range',
    'ETag',
    'KGrid-Cards-Withheld',
    'KGrid-Error',
    'KGrid-Execution-Id',
    'KGrid-Failed',
    'KGrid-Manifest-Errors',
    'KGrid-Package-Digest',
    'KGrid-Package-Signer',
    'KGrid-Records',
    'KGrid-Replaced',
    'KGrid-Still-Active',
    'Link',
    'Location',
    'Preference-Applied',
    'Retry-After',
    'WWW-Authenticate',
    'X-Request-Id',
  ].join(', '),
];
const NONE: HeaderList = [];
const ANY_ORIGIN: HeaderList = ['access-control-allow-origin', '*', ...EXPOSED];
/**
 * `X-Forwarded-*` must stay out, and so must `*`: a page could name itself as the address of this service, which
 * `cross-site.ts` compares with the page's origin.
 */
const PREFLIGHT: HeaderList = [
  'access-control-allow-headers',
  'Accept, Authorization, Content-Encoding, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, Prefer, Range, Traceparent, Tracestate, X-Request-Id, X-Requested-With',
  'access-control-max-age',
  '600',
];

/**
 * What the answer of a read or an execution carries, for handlers that write their answer themselves. Nothing for
 * a POST that is no page's. A GET always gets it: its answer may be kept in a cache and serve a page later.
 */
export function corsHeadersFor(request: Pick<IncomingMessage, 'headers' | 'method'>): HeaderList {
  return request.headers.origin !== undefined || request.method === 'GET' || request.method === 'HEAD'
    ? ANY_ORIGIN
    : NONE;
}

export interface Cors {
  /** Puts the headers on the answer of a route of this access. */
  addHeaders(request: FastifyRequest, reply: FastifyReply, access: Permission): void;
  /** "OPTIONS answers CORS", on every path. */
  answerOptions(request: FastifyRequest, reply: FastifyReply): void;
}

export function createCors(corsOrigins: ReadonlySet<string>): Cors {
  const listed = (request: FastifyRequest): HeaderList => {
    const { origin } = request.headers;
    return origin !== undefined && corsOrigins.has(origin)
      ? ['access-control-allow-origin', origin, 'vary', 'Origin', ...EXPOSED]
      : NONE;
  };
  return {
    addHeaders(request, reply, access) {
      const isForAny = !isChange(access) && !isOfActuator(request.routeOptions.url ?? '');
      setAll(reply, isForAny ? corsHeadersFor(request) : listed(request));
    },
    answerOptions(request, reply) {
      const own = listed(request);
      setAll(reply, own === NONE && !isOfActuator(pathOf(request.url)) ? ANY_ORIGIN : own);
      setAll(reply, PREFLIGHT);
      // A page of any other origin is told by its browser that it may not write, before anything is sent.
      reply.header('access-control-allow-methods', own === NONE ? 'GET, HEAD, POST' : 'GET, HEAD, POST, PUT, DELETE');
      void reply.code(204).send();
    },
  };
}

const isOfActuator = (path: string): boolean => /^\/actuator(\/|$)/.test(path);

function setAll(reply: FastifyReply, headers: HeaderList): void {
  for (let i = 1; i < headers.length; i += 2) reply.header(String(headers[i - 1]), headers[i]);
}
