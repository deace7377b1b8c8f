/** The fast path: past the router, for the requests that systems send most. */
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { GrowingBytes } from '../lib/growing-bytes.ts';

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

/**
 * A chunked body may come in pieces of a byte. Node makes an object of each, and those that nobody reads yet take some
 * 250 times the memory of their bytes: here, what one read of the socket gives after its first piece goes together.
 * To be called before the first piece came. Other bodies come in one piece a read.
 */
function keepPiecesTogether(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  const waiting = new GrowingBytes();
  const most = request.readableHighWaterMark;
  const push = request.push.bind(request);
  const passOn = (): boolean => waiting.size === 0 || push(waiting.take());
  let hasBegun = false;
  // Node calls it with each piece, and with null at the end; false holds up the client.
  request.push = (piece: Buffer | null): boolean => {
    if (piece === null) {
      passOn();
      return push(null);
    }
    if (!hasBegun) {
      hasBegun = true;
      return push(piece);
    }
    // Node runs its ticks between two pieces of one read.
    if (waiting.size === 0) setImmediate(passOn);
    waiting.add(piece);
    return waiting.size >= most ? passOn() : request.readableLength + waiting.size < most;
  };
}
