/**
 * A listener of their own for the runtimes that the service started. Code in them calls other knowledge objects, and must be
 * able to finish that also when the service stops and takes no new connections, or has as many as it may.
 */
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from '../lib/http-module.ts';

export interface PrivateListener extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** Whether it came in here: what proves a runtime of our own counts nowhere else. */
  hasReceived(request: IncomingMessage): boolean;
}

/** Opens it; behind it is the service as it is, with its access rules. `isAllowed` knows the runtimes. */
export async function openPrivateListener(
  app: FastifyInstance,
  isAllowed: (request: IncomingMessage) => boolean,
): Promise<PrivateListener> {
  const received = new WeakSet<IncomingMessage>();
  const server = createServer({ keepAliveTimeout: app.initialConfig.keepAliveTimeout }, (request, response) => {
    if (isAllowed(request)) {
      received.add(request);
      app.server.emit('request', request, response);
    } else response.writeHead(403, { connection: 'close' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hasReceived: (request) => received.has(request),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
