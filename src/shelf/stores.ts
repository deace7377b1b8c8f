/** The kinds of stores that a shelf can lie in. What the service and the commands ask of a kind stands in its row. */
import { startRefused } from '../lib/errors.ts';
import type { StoredShelfOptions } from './store/open-stored-shelf.ts';
import { folderStore } from './store/folder-store.ts';
import type { PostgresShelfOptions } from './store/postgres/open-postgres-shelf.ts';
import type { PasswordSources } from './store/postgres/connection.ts';
import { postgresStore } from './store/postgres/postgres-store.ts';
import type { ShelfReport } from './store/check-shelf.ts';
import type { Database } from './store/database.ts';
import type { StoredShelf } from './store/stored-shelf.ts';

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
  open(location: string, options: ShelfOptions): Promise<StoredShelf>;
  /** Reads all of its packages; an activator may go on meanwhile. @throws Error where it cannot be read. */
  check(location: string, access: StoreAccess): Promise<ShelfReport>;
  /**
   * Its database, for a command that only reads it, or that looks after its tables, which may be missing.
   * @throws Error where there is none, or it cannot be read.
   */
  openDatabase(location: string, access: StoreAccess, what: 'to read' | 'tables'): Promise<Database>;
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

/** The shelf of a location. @throws startRefused where there is none, or no store is known for it. */
export const openShelf = async (location: string, options: ShelfOptions = {}): Promise<StoredShelf> =>
  storeAt(location).open(location, options);

/** The absolute path of the folder that a location names. @throws startRefused where it names something else. */
export function folderOfShelf(location: string): string {
  const store = storeAt(location);
  const folder = store.folderAt(location);
  if (folder !== undefined) return folder;
  throw startRefused(
    `--shelf: ${store.labelAt(location)} is no folder, and this is done in folders only; back up a database with its own programs, such as pg_dump`,
  );
}
