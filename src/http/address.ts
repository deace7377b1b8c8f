/** The address under which the client reached the service, for absolute links. */
import type { FastifyRequest } from 'fastify';

/** `--public-url` wins; `X-Forwarded-*` count only with `--trust-proxy`, which Fastify then applies itself. */
export const addressOf = (request: FastifyRequest, publicUrl: string | undefined): string =>
  publicUrl ?? `${request.protocol}://${request.host}`;
