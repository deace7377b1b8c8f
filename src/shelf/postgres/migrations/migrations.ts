import { activatedTimes } from './activated-times.ts';
import { auditChain } from './audit-chain.ts';
import { first } from './first.ts';
import { silences } from './silences.ts';

/** Statements for the schema of that name. */
export type Migration = (schema: string) => string;

/** In order; one that was released is never changed. Each is done in one transaction. */
export const MIGRATIONS: readonly Migration[] = [first, auditChain, activatedTimes, silences];

/** Of the schema with all migrations done: what must be there. */
export const TABLES: readonly string[] = [
  ...['state', 'change', 'blob', 'blob_chunk', 'package', 'package_file', 'ko', 'kept', 'active', 'activation'],
  ...['node', 'runtime', 'runtime_endpoint', 'lease', 'audit', 'audit_writer', 'audit_start', 'engine_refresh'],
];
