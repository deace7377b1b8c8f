/** What a file shelf has on the disk, by its layout alone. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Names of the package folders of imported knowledge objects; each has its record beside it. */
export const packagesIn = (shelf: string): string[] =>
  readdirSync(join(shelf, '.kgrid/objects')).filter((name) => !name.endsWith('.json'));

/** What a folder below the shelf holds, with everything in it; nothing where there is none. */
export function listingOf(shelf: string, folder: string): string[] {
  try {
    return readdirSync(join(shelf, folder), { recursive: true, encoding: 'utf8' }).sort();
  } catch {
    return [];
  }
}
