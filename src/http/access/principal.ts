import type { FastifyRequest } from 'fastify';

/** Who sends a request. */
export interface Principal {
  /** The Basic user, or the token's `sub` (else `client_id`). */
  readonly name: string;
  readonly kind: 'dev' | 'basic' | 'oauth' | 'anonymous';
  /** Of a token; empty for the others. */
  readonly scopes: readonly string[];
  /** Of a token: until when it counts, in milliseconds since 1970. */
  readonly until?: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** On routes that need no login this is anonymous also for callers who sent credentials, except on `health`. */
    principal: Principal;
  }
}

export const ANONYMOUS: Principal = Object.freeze({ name: 'anonymous', kind: 'anonymous', scopes: [] });
/** Everybody in the dev profile. */
export const DEV: Principal = Object.freeze({ name: 'dev', kind: 'dev', scopes: [] });

/** True when the caller may see what needs a login, as everybody may in the dev profile. */
export const isAuthenticated = (request: FastifyRequest): boolean => request.principal.kind !== 'anonymous';
