/** The audit that belongs to a shelf, for a command that only looks at it. */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readPassword } from '../../src/config/secret-file.ts';
import { messageOf } from '../../src/lib/errors.ts';
import type { AuditStore } from '../../src/shelf/audit-store.ts';
import { AuditFilesToVerify } from '../../src/shelf/file-store/audit-files-to-verify.ts';
import { AuditFiles } from '../../src/shelf/file-store/audit-files.ts';
import { SHELF_HOME } from '../../src/shelf/file-store/shelf-layout.ts';
import { folderOfShelf } from '../../src/shelf/open-shelf.ts';
import { isPostgresLocation } from '../../src/shelf/postgres/location.ts';
import type { Database } from '../../src/shelf/postgres/database.ts';
import type { AuditToVerify } from '../../src/shelf/verify-audit.ts';
import type { Environment } from './context.ts';
import { ioFailure } from './exit.ts';

export interface AuditPlace {
  readonly shelf: string;
  readonly state?: string | undefined;
  readonly fleet: string;
  readonly passwordFile?: string | undefined;
  readonly env: Environment;
}

/** @throws CommandFailure where there is none. */
export async function auditToVerify(place: AuditPlace): Promise<AuditToVerify> {
  if (!isPostgresLocation(place.shelf)) return new AuditFilesToVerify(await folderOf(place));
  const { AuditRowsToVerify } = await import('../../src/shelf/postgres/audit-rows-to-verify.ts');
  return new AuditRowsToVerify(await databaseOf(place));
}

/** @throws CommandFailure where there is none. */
export async function auditToRead(place: AuditPlace): Promise<AuditStore & AsyncDisposable> {
  if (!isPostgresLocation(place.shelf)) {
    const files = new AuditFiles(await folderOf(place), Number.MAX_SAFE_INTEGER);
    return Object.assign(files, { [Symbol.asyncDispose]: () => Promise.resolve() });
  }
  const { AuditRows } = await import('../../src/shelf/postgres/audit-rows.ts');
  const database = await databaseOf(place);
  const rows = new AuditRows(database, '', Number.MAX_SAFE_INTEGER);
  return Object.assign(rows, { [Symbol.asyncDispose]: () => database.close() });
}

async function folderOf({ shelf, state }: AuditPlace): Promise<string> {
  const home = state === undefined ? join(folderOr(shelf), SHELF_HOME) : resolve(state);
  const folder = join(home, 'audit');
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return folder;
  throw ioFailure(
    `There is no audit in ${folder}: name the shelf as the activator has it, and its state folder with --state where it has one`,
  );
}

function folderOr(shelf: string): string {
  try {
    return folderOfShelf(shelf);
  } catch (thrown) {
    throw ioFailure(messageOf(thrown), thrown);
  }
}

async function databaseOf({ shelf, fleet, passwordFile, env }: AuditPlace): Promise<Database> {
  const { Database } = await import('../../src/shelf/postgres/database.ts');
  try {
    const file = passwordFile === undefined ? undefined : () => readPassword(passwordFile, '--shelf-password-file');
    const database = new Database(shelf, { fleet, passwords: { file, environment: env } });
    try {
      await database.query(`SELECT 1 FROM ${database.schema}.audit_start`);
      return database;
    } catch (thrown) {
      await database.close();
      throw thrown;
    }
  } catch (thrown) {
    throw ioFailure(
      `The audit of the fleet ${fleet} cannot be read (${messageOf(thrown)}): check --fleet and the login, and start an activator of this version on it first where none was`,
      thrown,
    );
  }
}
