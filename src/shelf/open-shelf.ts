import { startRefused } from '../lib/errors.ts';
import type { StoredShelf } from './store/stored-shelf.ts';
import { storeAt, type ShelfOptions } from './stores.ts';

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
