/** The audit that belongs to a shelf, for a command that only looks at it. */
import { readPassword } from '../../src/config/secret-file.ts';
import { messageOf } from '../../src/lib/errors.ts';
import type { AuditStore } from '../../src/shelf/audit/audit-store.ts';
import { AuditTable } from '../../src/shelf/audit/audit-table.ts';
import type { Database } from '../../src/shelf/store/database.ts';
import { type StoreAccess, storeAt } from '../../src/shelf/stores.ts';
import type { Environment } from './context.ts';
import { ioFailure, orShelfFailure } from './exit.ts';

export interface AuditPlace {
  readonly shelf: string;
  readonly state?: string | undefined;
  readonly fleet: string;
  readonly passwordFile?: string | undefined;
  readonly env: Environment;
}

/** @throws CommandFailure where there is none. */
export async function auditToRead(place: AuditPlace): Promise<AuditStore & AsyncDisposable> {
  const database = await databaseOf(place);
  return Object.assign(new AuditTable(database, Number.MAX_SAFE_INTEGER), {
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  });
}

/** @throws CommandFailure where there is none. */
export async function databaseOf(place: AuditPlace): Promise<Database> {
  const store = await orShelfFailure(() => storeAt(place.shelf));
  return orNotRead(place, () => store.openDatabase(place.shelf, accessOf(place), 'to read'));
}

export function accessOf({ fleet, state, passwordFile, env }: Omit<AuditPlace, 'shelf'>): StoreAccess {
  const file = passwordFile === undefined ? undefined : () => readPassword(passwordFile, '--shelf-password-file');
  return { fleet, state, passwords: { file, environment: env } };
}

async function orNotRead<T>(place: AuditPlace, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (thrown) {
    const isFolder = storeAt(place.shelf).folderAt(place.shelf) !== undefined;
    const [which, what] = isFolder
      ? ['of the shelf', 'name the shelf as the activator has it, and with --read-only its state folder with --state']
      : [`of the fleet ${place.fleet}`, 'check --fleet and the login'];
    throw ioFailure(
      `The audit ${which} cannot be read (${messageOf(thrown)}): ${what}, and start an activator of this version on it first where none was`,
      thrown,
    );
  }
}
