/** What a shelf in a folder has on the disk, by its layout alone. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What a folder below the shelf holds, with everything in it; nothing where there is none. */
export function listingOf(shelf: string, folder: string): string[] {
  try {
    return readdirSync(join(shelf, folder), { recursive: true, encoding: 'utf8' }).sort();
  } catch {
    return [];
  }
}

/** Paths of the files of packages, each stored once. */
export const objectsIn = (shelf: string): string[] =>
  readdirSync(join(shelf, '.kgrid/objects'), { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );

/** Where the file of a package lies. */
export function objectOf(shelf: string, id: string, path: string): string {
  const rows = inDatabase(shelf, 'SELECT files FROM package JOIN ko USING (digest) WHERE ko.id = ?', id);
  const files = JSON.parse(String(rows[0]?.['files'])) as [string, number, string][];
  const digest = files.find(([name]) => name === path)?.[2] ?? '';
  return join(shelf, '.kgrid/objects', digest.slice(0, 2), digest);
}

/** Sets of files that are stored, of KOs and of what is retained of them: other metadata share them. */
export const packagesIn = (shelf: string): string[] => [
  ...new Set(
    inDatabase(shelf, 'SELECT files FROM package').map(({ files }) =>
      JSON.stringify((JSON.parse(String(files)) as [string][]).filter(([path]) => path !== 'metadata.json')),
    ),
  ),
];

function inDatabase(shelf: string, sql: string, ...values: string[]): Record<string, unknown>[] {
  const database = new DatabaseSync(join(shelf, '.kgrid/shelf.db'), { readOnly: true });
  try {
    return database.prepare(sql).all(...values);
  } finally {
    database.close();
  }
}
