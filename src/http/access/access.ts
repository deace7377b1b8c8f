/**
 * Who may use a route is a property of the route: each declares one of these words in its `config`, and the
 * hook of `install-access.ts` decides on the route that matched, never on the text of the URL.
 */
import type { FastifyBaseLogger } from 'fastify';
import type { Secret } from '../../lib/secret.ts';
import type { AuditStore } from '../../shelf/audit/audit-store.ts';

const ALL = [
  'open',
  'execution',
  'shelf-write',
  'activation',
  'runtime-registration',
  'log-level',
  'info',
  'health',
] as const;

/**
 * - `open`: everybody.
 * - `execution`: everybody, unless `secureExecution`.
 * - `shelf-write`, `activation`, `runtime-registration`, `log-level`: change something; they need a login and leave an audit line.
 * - `info`: needs a login.
 * - `health`: everybody, and `isAuthenticated(request)` says whether the caller may see details.
 */
export type Access = (typeof ALL)[number];

declare module 'fastify' {
  interface FastifyContextConfig {
    access: Access;
  }
}

export interface AccessOptions {
  /** "In dev mode […], secured endpoints are not secured, and full health information is exposed." */
  readonly profile: 'dev' | 'secure';
  readonly secureExecution: boolean;
  readonly basic?: BasicOptions | undefined;
  readonly oauth?: OauthOptions | undefined;
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

export interface BasicOptions {
  readonly user: string;
  readonly password: Secret;
  /** Reads the password again, where it stands in a file. @throws Error where it cannot be read now. */
  readonly again?: (() => Secret) | undefined;
}

export interface OauthOptions {
  /** The issuer's address, https or on loopback. */
  readonly issuer: string;
  /** What a token's `aud` must hold. */
  readonly audience: string;
  /** What a token must hold to write, activate and register; several are divided by spaces and all needed. */
  readonly scope?: string;
}

export const isAccess = (value: unknown): value is Access => ALL.some((word) => word === value);

/** True for what a page of another site must not be able to do, and what leaves an audit line. */
export const isChange = (access: Access): boolean =>
  access === 'shelf-write' || access === 'activation' || access === 'runtime-registration' || access === 'log-level';

/** True for what the secured profile closes. */
export const needsLogin = (access: Access, secureExecution: boolean): boolean =>
  isChange(access) || access === 'info' || (access === 'execution' && secureExecution);
