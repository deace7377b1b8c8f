/** Declares a path with the methods it has; all others answer 405 with `Allow`. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteShorthandOptions } from 'fastify';
import { methodNotAllowed } from '../lib/errors.ts';
import * as http from '../lib/http-module.ts';
import type { Access } from './access/access.ts';
import { pathOf } from './errors.ts';

export type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

export interface Operation {
  readonly access: Access;
  readonly handler: Handler;
  /** A GET that only reads also answers HEAD. */
  readonly head?: boolean;
  readonly options?: RouteShorthandOptions;
}

/** Every method that can arrive; OPTIONS is answered for all paths alike. */
export const METHODS: readonly HTTPMethods[] = http.METHODS.filter(
  (method) => method !== 'OPTIONS' && method !== 'CONNECT',
);

/** Lets the router know them all, so that the rare ones get their 405 too. */
export function installMethods(app: FastifyInstance): void {
  for (const method of METHODS)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
}

export function declare(
  app: FastifyInstance,
  url: string,
  operations: Partial<Record<'GET' | 'POST' | 'PUT' | 'DELETE', Operation>>,
): void {
  const allowed: HTTPMethods[] = [];
  for (const [method, operation] of Object.entries(operations)) {
    const methods = method === 'GET' && operation.head !== false ? ['GET', 'HEAD'] : [method];
    allowed.push(...methods);
    app.route({
      ...operation.options,
      method: methods,
      url,
      config: { access: operation.access },
      handler: operation.handler,
    });
  }
  app.route({
    method: METHODS.filter((method) => !allowed.includes(method)),
    url,
    config: { access: 'open' },
    onRequest: (request, _reply, done) => done(methodNotAllowed(request.method, pathOf(request.url), allowed)),
    handler: (_request, reply) => reply,
  });
}
