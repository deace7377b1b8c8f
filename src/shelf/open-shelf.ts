import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRefused } from '../lib/errors.ts';
import { userCache } from '../lib/user-cache.ts';
import { openFileShelf, type FileShelfOptions } from './file-store/open-file-shelf.ts';
import { isPostgresLocation } from './postgres/location.ts';
import type { PostgresShelfOptions } from './postgres/open-postgres-shelf.ts';
import type { Shelf } from './shelf.ts';

export interface ShelfOptions extends FileShelfOptions, Omit<PostgresShelfOptions, 'folder' | 'onWarning' | 'onStep'> {
  /** Of a shelf elsewhere: where files of its packages are kept on this machine; by default in the user's cache. */
  readonly copies?: string | undefined;
}

/** The shelf of a location. @throws startRefused where there is none, or no store is known for it. */
export async function openShelf(location: string, options: ShelfOptions = {}): Promise<Shelf> {
  if (!isPostgresLocation(location)) return openFileShelf(folderOfShelf(location), options);
  // Whoever has a folder needs nothing of it.
  const { openPostgresShelf } = await import('./postgres/open-postgres-shelf.ts');
  const { copies = join(userCache('kgrid-activator'), 'shelf') } = options;
  return openPostgresShelf(location, { ...options, onStep: undefined, folder: copies });
}

/** The absolute path of the folder that a location names. @throws startRefused where it names something else. */
export function folderOfShelf(location: string): string {
  if (/^postgres(?:ql)?\/\//i.test(location))
    throw startRefused(
      '--shelf: it looks like the address of a database, and lacks the colon: write it like postgres://user@host:5432/database',
    );
  const kind = /^([a-z][a-z\d+.-]+):\//i.exec(location)?.[1]?.toLowerCase();
  if (kind === undefined) return resolve(location);
  if (kind === 'file') {
    try {
      return fileURLToPath(location);
    } catch (thrown) {
      throw startRefused(`--shelf: ${location} names no folder of this machine: write it like file:///var/lib/kgrid`, {
        cause: thrown,
      });
    }
  }
  // The rest of the location may hold a password.
  throw startRefused(
    `--shelf: a shelf at ${kind}: cannot be opened: supported are a folder, such as /var/lib/kgrid or file:///var/lib/kgrid, and a PostgreSQL database, postgres://host/database`,
  );
}
