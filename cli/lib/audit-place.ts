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
import { storeAt, type ShelfStore, type StoreAccess } from '../../src/shelf/stores.ts';
import type { AuditToVerify } from '../../src/shelf/verify-audit.ts';
import type { Environment } from './context.ts';
import { ioFailure } from './exit.ts';
import { orShelfFailure } from './shelf-failure.ts';

export interface AuditPlace {
  readonly shelf: string;
  readonly state?: string | undefined;
  readonly fleet: string;
  readonly passwordFile?: string | undefined;
  readonly env: Environment;
}

/** @throws CommandFailure where there is none. */
export async function auditToVerify(place: AuditPlace): Promise<AuditToVerify> {
  const { audit } = await storeOf(place);
  if (audit === undefined) return new AuditFilesToVerify(await folderOf(place));
  return orNotRead(place, () => audit.verify(place.shelf, accessOf(place)));
}

/** @throws CommandFailure where there is none. */
export async function auditToRead(place: AuditPlace): Promise<AuditStore & AsyncDisposable> {
  const { audit } = await storeOf(place);
  if (audit !== undefined) return orNotRead(place, () => audit.read(place.shelf, accessOf(place)));
  const files = new AuditFiles(await folderOf(place), Number.MAX_SAFE_INTEGER);
  return Object.assign(files, { [Symbol.asyncDispose]: () => Promise.resolve() });
}

const storeOf = ({ shelf }: AuditPlace): Promise<Pick<ShelfStore, 'audit'>> => orShelfFailure(() => storeAt(shelf));

async function folderOf({ shelf, state }: AuditPlace): Promise<string> {
  const home =
    state === undefined ? join(await orShelfFailure(() => folderOfShelf(shelf)), SHELF_HOME) : resolve(state);
  const folder = join(home, 'audit');
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return folder;
  throw ioFailure(
    `There is no audit in ${folder}: name the shelf as the activator has it, and its state folder with --state where it has one`,
  );
}

function accessOf({ fleet, passwordFile, env }: AuditPlace): StoreAccess {
  const file = passwordFile === undefined ? undefined : () => readPassword(passwordFile, '--shelf-password-file');
  return { fleet, passwords: { file, environment: env } };
}

async function orNotRead<T>({ fleet }: AuditPlace, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (thrown) {
    throw ioFailure(
      `The audit of the fleet ${fleet} cannot be read (${messageOf(thrown)}): check --fleet and the login, and start an activator of this version on it first where none was`,
      thrown,
    );
  }
}
