/** The kinds of stores that a shelf can lie in. What the service and the commands ask of a kind stands in its row. */
import { startRefused } from '../lib/errors.ts';
import type { AuditStore } from './audit/audit-store.ts';
import type { StoredShelfOptions } from './store/open-stored-shelf.ts';
import { folderStore } from './store/folder-store.ts';
import type { PostgresShelfOptions } from './postgres/open-postgres-shelf.ts';
import type { PasswordSources } from './postgres/passwords.ts';
import { postgresStore } from './postgres/postgres-store.ts';
import type { Shelf } from './shelf.ts';
import type { AuditToVerify } from './audit/verify-audit.ts';

export interface ShelfOptions
  extends StoredShelfOptions, Omit<PostgresShelfOptions, 'folder' | 'onWarning' | 'onStep'> {
  /** Of a shelf elsewhere: where files of its packages are kept on this machine; by default in the user's cache. */
  readonly copies?: string | undefined;
}

/** Who asks for what is kept elsewhere than on this machine. */
export interface StoreAccess {
  /** The state folder of an activator that only reads its shelf. */
  readonly state?: string | undefined;
  readonly fleet: string;
  readonly passwords: PasswordSources;
}

/** An audit that is kept with the packages, for a command that only looks at it. Both throw where it cannot be read. */
export interface AuditOfStore {
  read(location: string, access: StoreAccess): Promise<AuditStore & AsyncDisposable>;
  verify(location: string, access: StoreAccess): Promise<AuditToVerify>;
}

export interface ShelfStore {
  /** How its locations are written, for whoever wrote another. */
  readonly written: string;
  isAt(location: string): boolean;
  /**
   * The absolute path of the folder that holds all that belongs to the shelf; undefined for what lies elsewhere, and
   * needs a folder for copies. @throws startRefused where the location is written wrongly.
   */
  folderAt(location: string): string | undefined;
  /** How it may be shown: without a password. */
  labelAt(location: string): string;
  /** @throws startRefused. */
  open(location: string, options: ShelfOptions): Promise<Shelf>;
  readonly audit: AuditOfStore;
}

const STORES: readonly ShelfStore[] = [postgresStore, folderStore];

/** @throws startRefused where no store is known for it. */
export function storeAt(location: string): ShelfStore {
  const store = STORES.find((each) => each.isAt(location));
  if (store !== undefined) return store;
  // The rest of the location may hold a password.
  const [kind = ''] = location.split(':', 1);
  const known = STORES.toReversed().map(({ written }) => written);
  throw startRefused(
    `--shelf: a shelf at ${kind.toLowerCase()}: cannot be opened: supported are ${known.join(', and ')}`,
  );
}
