/** Declares a path with the methods it has; all others answer 405 with `Allow`. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteShorthandOptions } from 'fastify';
import { methodNotAllowed } from '../lib/errors.ts';
import * as http from '../lib/http-module.ts';
import type { Permission } from '../identity/permissions.ts';
import type { DeclaredErrors } from './errors.ts';
import { pathOf } from '../lib/url-path.ts';

export type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

export interface Operation {
  readonly access: Permission;
  readonly handler: Handler;
  /** A GET that only reads also answers HEAD. */
  readonly head?: boolean;
  readonly options?: RouteShorthandOptions;
}

/** Every method that can arrive; OPTIONS is answered for all paths alike. */
export const METHODS: readonly HTTPMethods[] = http.METHODS.filter(
  (method) => method !== 'OPTIONS' && method !== 'CONNECT',
);

/** Stands in the router for all that no path has: a route for each of them on each path would be a thousand. */
const ANY_RARE = 'PATCH';

/** The methods that routes are made for. */
export const ROUTED: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', ANY_RARE];
/** … and those that are measured each by itself. */
export const MEASURED_METHODS: readonly string[] = [...ROUTED, 'OPTIONS'];
const AS_SENT: ReadonlySet<string | undefined> = new Set([...ROUTED, 'OPTIONS']);

/** Lets the router know all methods, so that the rare ones get their 405 too: it sees them as one. */
export class Methods {
  readonly #sent = new WeakMap<IncomingMessage, string>();

  /** Of Fastify's options: what it calls before it looks for a route. */
  readonly rewriteUrl = (request: IncomingMessage): string => {
    const { method } = request;
    if (method !== undefined && !AS_SENT.has(method)) {
      this.#sent.set(request, method);
      request.method = ANY_RARE;
    }
    return request.url ?? '/';
  };

  /** Before every other hook, all of which see the method that was sent. */
  install(app: FastifyInstance): void {
    for (const method of METHODS)
      if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      raw.method = this.#sent.get(raw) ?? raw.method;
      done();
    });
  }
}

export interface PathOptions {
  readonly errors?: DeclaredErrors;
  readonly isForOwnPages?: boolean;
  /** What is better said than which methods the path has. */
  readonly refusal?: (request: FastifyRequest) => Promise<Error | undefined>;
}

export function declare(
  app: FastifyInstance,
  url: string,
  operations: Partial<Record<'GET' | 'POST' | 'PUT' | 'DELETE', Operation>>,
  { errors = 'request', refusal, isForOwnPages = false }: PathOptions = {},
): void {
  const allowed: HTTPMethods[] = [];
  for (const [method, operation] of Object.entries(operations)) {
    const methods = method === 'GET' && operation.head !== false ? ['GET', 'HEAD'] : [method];
    allowed.push(...methods);
    app.route({
      ...operation.options,
      method: methods,
      url,
      config: { access: operation.access, errors, isForOwnPages },
      handler: operation.handler,
    });
  }
  app.route({
    method: ROUTED.filter((method) => !allowed.includes(method)),
    url,
    config: { access: 'public', errors },
    onRequest: async (request) => {
      throw (await refusal?.(request)) ?? methodNotAllowed(request.method, pathOf(request.url), allowed);
    },
    handler: (_request, reply) => reply,
  });
}
