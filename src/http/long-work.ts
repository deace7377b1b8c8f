/** Work that may take minutes, during which nothing moves on the connection of its caller. */
import type { FastifyRequest } from 'fastify';

/** Does the work without the limit for silent connections, which is for those on which nobody works. */
export async function withoutSilenceLimit<T>({ raw, server }: FastifyRequest, work: () => Promise<T>): Promise<T> {
  const { socket } = raw;
  socket.setTimeout(0);

  try {
    return await work();
  } finally {
    socket.setTimeout(server.server.timeout);
  }
}
