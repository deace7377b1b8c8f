/** How the audit and the log tell that the content of a version is another now. */
import type { FastifyRequest } from 'fastify';

/** For the audit. */
export const replaced = (digests: string | undefined): { Replaced?: string } =>
  digests === undefined ? {} : { Replaced: digests };

/** Others may rely on what the version held. */
export function logReplaced(request: FastifyRequest, ko: string, digests: string): void {
  request.log.warn({ requestId: request.id, ko, digests }, 'Replaced');
}
