/** The audit of a shelf in a folder, for a command; an activator may go on meanwhile. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AuditTable } from '../audit/audit-table.ts';
import { AuditTableToVerify } from '../audit/audit-table-to-verify.ts';
import type { AuditStore } from '../audit/audit-store.ts';
import { shelfLayout } from './shelf-layout.ts';
import type { AuditToVerify } from '../audit/verify-audit.ts';
import { databaseIn } from './open-stored-shelf.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

/** @throws Error where there is none. */
export async function openAuditToRead(
  folder: string,
  state: string | undefined,
): Promise<AuditStore & AsyncDisposable> {
  const database = await openToRead(folder, state);
  return Object.assign(new AuditTable(database, Number.MAX_SAFE_INTEGER), {
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  });
}

/** @throws Error where there is none. */
export async function openAuditToVerify(folder: string, state: string | undefined): Promise<AuditToVerify> {
  return new AuditTableToVerify(await openToRead(folder, state));
}

async function openToRead(folder: string, state: string | undefined): Promise<SqliteDatabase> {
  const ofState = state === undefined ? undefined : join(resolve(state), 'shelf.db');
  const file = ofState !== undefined && existsSync(ofState) ? ofState : databaseIn(shelfLayout(folder));
  if (!existsSync(file)) throw new Error(`there is no database .kgrid/shelf.db in ${folder}`);
  return SqliteDatabase.open(file, { isReadOnly: true });
}
