/**
 * Who may use a route is a property of the route: each declares a permission in its `config`, and the hook of
 * `install-access.ts` decides on the route that matched, never on the text of the URL.
 */
import type { FastifyBaseLogger } from 'fastify';
import type { Identity } from '../../identity/identity.ts';
import type { Permission } from '../../identity/permissions.ts';
import type { Principal } from '../../identity/principal.ts';
import type { AuditStore } from '../../shelf/audit/audit-store.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    access: Permission;
    /** Pages of other sites, and of names that are not the service's, are refused, whoever sends the request. */
    isForOwnPages?: boolean;
  }
  interface FastifyRequest {
    /** On routes that everybody may use this is anonymous also for who sent credentials, except for calls and on `health`. */
    principal: Principal;
  }
}

export interface AccessOptions {
  readonly identity: Identity;
  readonly profile: 'dev' | 'secure';
  /** Origins whose pages may write, activate and register, such as `https://app.example.org`. Not patterns. */
  readonly corsOrigins: readonly string[];
  /** True when the service listens on loopback addresses only. */
  readonly loopbackOnly: boolean;
  /** Names under which the service is reached beside its address: `host` for any port, or `host:port`. */
  readonly publicHosts: readonly string[];
  /** Further names that lead here: `host` for any port, or `host:port`. Their pages are not those of this service. */
  readonly allowedHosts?: readonly string[];
  readonly log: FastifyBaseLogger;
  /** Hears why a login was refused. */
  readonly observe?: ((why: LoginRefusal) => void) | undefined;
  /** Keeps the audit beside the log. */
  readonly auditStore?: AuditStore | undefined;
  /** Bytes that the audit may take. */
  readonly auditBytes?: number;
}

/** There was none, it was wrong, it may not do this, or it could not be checked. */
export type LoginRefusal = 'missing' | 'wrong' | 'scope' | 'unchecked';
