/** The fast path: past the router, for the requests that systems send most. */
import type { RequestListener, Server } from 'node:http';
import { keepPiecesTogether } from './pieces-together.ts';

/** Answers a plain request as its route would, and leaves any other, as it came, to `next`. */
export type FastPath = (...request: [...Parameters<RequestListener>, next: RequestListener]) => void;

/** Lets each path have a look at a request before the router does. What one of them throws ends its request alone. */
export function installFastPaths(
  server: Server,
  paths: readonly FastPath[],
  onFault: (thrown: unknown, ...request: Parameters<RequestListener>) => void,
): void {
  const routers = server.listeners('request') as RequestListener[];
  const route: RequestListener = (request, response) => {
    for (const router of routers) void router(request, response);
  };
  const first = paths.reduceRight<RequestListener>(
    (next, path) => (request, response) => path(request, response, next),
    route,
  );
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    keepPiecesTogether(request);
    try {
      void first(request, response);
    } catch (thrown) {
      onFault(thrown, request, response);
    }
  });
}
