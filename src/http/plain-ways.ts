/** Ways past the router, for the requests that systems send most. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

/**
 * Answers a plain request as its route would, and is true; anything else is false, at once or in a while, and has
 * its request and its response as they were.
 */
export type PlainWay = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

export interface PlainWaysOptions {
  readonly ways: readonly PlainWay[];
  /** Asked for every request: while it is false, the router gets them all. */
  readonly isOpen: () => boolean;
  /** Called for each request that the router never sees. */
  readonly onTaken: () => void;
}

/** Lets each way have a look at a request before the router does. */
export function installPlainWays(server: Server, { ways, isOpen, onTaken }: PlainWaysOptions): void {
  const routers = server.listeners('request') as RequestListener[];
  const route: RequestListener = (request, response) => {
    for (const router of routers) void router(request, response);
  };
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    for (const way of isOpen() ? ways : []) {
      const taken = way(request, response);
      if (taken === false) continue;
      if (taken === true) onTaken();
      else void taken.then((isTaken) => (isTaken ? onTaken() : route(request, response)));
      return;
    }
    route(request, response);
  });
}
