import type { FastifyRequest } from 'fastify';

/** The version that `?v=` asks for, the first where there are several; undefined for none and for an empty one. */
export function askedVersion(request: FastifyRequest): string | undefined {
  const { v } = request.query as { v?: string | string[] };
  const version = Array.isArray(v) ? v[0] : v;
  return version === '' ? undefined : version;
}
