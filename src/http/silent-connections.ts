/** Connections on which nothing moves. */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const SILENT_MS = 120_000;

/**
 * Closes connections on which nothing moves, such as that of a client that does not read its answer. A connection whose
 * answer is not there yet stays open: what works on the answer has a limit of its own.
 */
export function closeSilentConnections(server: Server, milliseconds = SILENT_MS): void {
  const latest = new WeakMap<Socket, ServerResponse>();
  server.on('request', (request, response) => void latest.set(request.socket, response));
  server.setTimeout(milliseconds);
  server.on('timeout', (socket: Socket) => {
    const answer = latest.get(socket);
    const isAwaited = answer?.writableEnded === false && answer.writableLength === 0;
    if (!isAwaited) socket.destroy();
  });
}
