/** The address under which the client reached the service, for absolute links. */
import type { FastifyRequest } from 'fastify';

/** `--public-url` wins; `X-Forwarded-*` count only with `--trust-proxy`, which Fastify then applies itself. */
export const addressOf = (request: FastifyRequest, publicUrl: string | undefined): string =>
  publicUrl ?? `${request.protocol}://${request.host === '' ? ownHost(request) : request.host}`;

/** HTTP/1.0 needs no `Host`. */
function ownHost({ socket: { localAddress = '', localPort = 0 } }: FastifyRequest): string {
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
