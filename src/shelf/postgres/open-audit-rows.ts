/** The audit of a fleet, without being a node of it. */
import type { AuditStore } from '../audit/audit-store.ts';
import type { StoreAccess } from '../stores.ts';
import type { AuditToVerify } from '../audit/verify-audit.ts';
import { AuditRowsToVerify } from './audit-rows-to-verify.ts';
import { AuditRows } from './audit-rows.ts';
import { Database } from './database.ts';

/** @throws DatabaseError where it cannot be read. */
export async function openAuditRows(location: string, access: StoreAccess): Promise<AuditStore & AsyncDisposable> {
  const database = await databaseAt(location, access);
  const rows = new AuditRows(database, '', Number.MAX_SAFE_INTEGER);
  return Object.assign(rows, { [Symbol.asyncDispose]: () => database.close() });
}

/** @throws DatabaseError where it cannot be read. */
export const openAuditRowsToVerify = async (location: string, access: StoreAccess): Promise<AuditToVerify> =>
  new AuditRowsToVerify(await databaseAt(location, access));

async function databaseAt(location: string, access: StoreAccess): Promise<Database> {
  const database = new Database(location, access);
  try {
    await database.query(`SELECT 1 FROM ${database.schema}.audit_start`);
    return database;
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}
