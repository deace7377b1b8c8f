/** The runtime's HTTP interface: one table of routes, and the secret that a supervised runtime asks for. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { messageOf, methodNotAllowed, notFound, ServiceError } from '../../../src/lib/errors.ts';
import { sameSecret } from '../../../src/lib/secret.ts';
import type { Endpoint, Endpoints } from '../activation/endpoints.ts';
import { secretHeader } from '../activator/client.ts';
import { crossSite, toServiceError, unauthenticated } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { sendError, sendJson } from './body.ts';
import type { Execute } from './execute.ts';

/** What a route answers with 200. */
export type Handler = (request: IncomingMessage) => unknown;

export interface ServerParts {
  /** By `METHOD /path`. */
  readonly routes: Readonly<Record<string, Handler>>;
  readonly endpoints: Endpoints;
  /** What `DELETE /endpoints/{uri}` answers. */
  readonly deactivate: (uri: string) => object;
  readonly execute: Execute;
  readonly secret: string | undefined;
  readonly log: Log;
}

export function createRuntimeServer(parts: ServerParts): Server {
  const { endpoints, execute, log } = parts;
  const mayEnter = secretCheck(parts.secret);
  const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 15_000, requestTimeout: 60_000 });
  server.on('request', (request, response) => {
    if (!mayEnter(request)) {
      request.resume();
      sendError(response, unauthenticated());
      return;
    }
    const path = pathOf(request.url ?? '/');
    if (request.method === 'POST' && endpoints.get(path)) execute(path, request, response);
    else {
      new Promise((resolve) => resolve(answer(parts, request, path))).then(
        (body) => sendJson(response, 200, body),
        (error: unknown) => {
          request.resume();
          if (!(error instanceof ServiceError)) log.warn('request failed', { path, reason: messageOf(error) });
          sendError(response, toServiceError(error));
        },
      );
    }
  });
  return server;
}

function answer(parts: ServerParts, request: IncomingMessage, path: string): unknown {
  const { method = 'GET' } = request;
  const handler = parts.routes[`${method} /${path}`];
  if (handler) {
    // A page in a browser could otherwise have its own code run here.
    if (method === 'POST' && request.headers.origin !== undefined) throw crossSite();
    return handler(request);
  }
  const allowed = Object.keys(parts.routes).filter((route) => route.endsWith(` /${path}`));
  if (allowed.length > 0)
    throw methodNotAllowed(
      method,
      `/${path}`,
      allowed.map((route) => route.slice(0, route.indexOf(' '))),
    );
  if (path.startsWith('endpoints/') && method === 'DELETE') {
    if (request.headers.origin !== undefined) throw crossSite();
    return parts.deactivate(path.slice('endpoints/'.length));
  }
  if (path.startsWith('endpoints/') && method === 'GET') {
    const uri = path.slice('endpoints/'.length);
    const endpoint = parts.endpoints.get(uri);
    if (endpoint) return describeEndpoint(endpoint);
    throw notFound(`No endpoint ${uri} is active in this runtime`);
  }
  if (parts.endpoints.get(path)) throw methodNotAllowed(method, `/${path}`, ['POST']);
  throw notFound(`No endpoint ${path} is active in this runtime`);
}

export const describeEndpoint = ({ answer, descriptor }: Endpoint): object => ({
  ...answer,
  entry: descriptor.entry,
  function: descriptor.function,
  artifact: descriptor.artifacts,
  ...(descriptor.checksum === undefined ? {} : { checksum: descriptor.checksum }),
});

function pathOf(url: string): string {
  const path = url.split('?', 1)[0] ?? '';
  return path.endsWith('/') ? path.slice(1, -1) : path.slice(1);
}

function secretCheck(secret: string | undefined): (request: IncomingMessage) => boolean {
  if (secret === undefined) return () => true;
  const isSecret = sameSecret(secret);
  return ({ headers }) => isSecret(headers[secretHeader]);
}
