import type { FastifyBaseLogger } from 'fastify';
import { hostname } from 'node:os';
import type { Config } from '../../config/config.ts';
import type { Identity } from '../../identity/identity.ts';
import { isLoopback } from '../../lib/loopback.ts';
import type { AuditStore } from '../../shelf/audit/audit-store.ts';
import type { AccessOptions } from './access.ts';

export interface AccessParts {
  readonly identity: Identity;
  readonly log: FastifyBaseLogger;
  /** None on a read-only shelf. */
  readonly auditStore: AuditStore | undefined;
  readonly observe?: AccessOptions['observe'];
}

/** The access rules that the configuration asks for. */
export const accessOptionsOf = (
  config: Config,
  { identity, log, auditStore, observe }: AccessParts,
): AccessOptions => ({
  identity,
  profile: config.profile,
  corsOrigins: config.cors,
  loopbackOnly: isLoopback(config.host),
  publicHosts: config.publicUrl === undefined ? [] : [new URL(config.publicUrl).host],
  allowedHosts: [...config.allowedHosts, ...config.cors.map((origin) => new URL(origin).hostname), ...machineNames()],
  log,
  auditStore,
  auditBytes: config.limits.audit,
  observe,
});

/** With its domain and without. */
function machineNames(): string[] {
  const name = hostname();
  return [name, name.split('.', 1)[0] ?? name];
}
