/**
 * A door of their own for the runtimes that the service started. Code in them calls other knowledge objects, and must be
 * able to finish that also when the service stops and takes no new connections, or has as many as it may.
 */
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RuntimeDoor extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** Whether it came in here: what proves a runtime of our own counts nowhere else. */
  letIn(request: IncomingMessage): boolean;
}

/** Opens it; behind it is the service as it is, with its access rules. `mayEnter` knows the runtimes. */
export async function openRuntimeDoor(
  app: FastifyInstance,
  mayEnter: (request: IncomingMessage) => boolean,
): Promise<RuntimeDoor> {
  const entered = new WeakSet<IncomingMessage>();
  const door = createServer({ keepAliveTimeout: app.initialConfig.keepAliveTimeout }, (request, response) => {
    if (mayEnter(request)) {
      entered.add(request);
      app.server.emit('request', request, response);
    } else response.writeHead(403, { connection: 'close' }).end();
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  return {
    url: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
    letIn: (request) => entered.has(request),
    async [Symbol.asyncDispose]() {
      const closed = once(door, 'close');
      door.close();
      door.closeAllConnections();
      await closed;
    },
  };
}
