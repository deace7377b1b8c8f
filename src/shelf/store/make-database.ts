/** Makes the database of a shelf from what its packages say. */
import { koKey } from '../../knowledge-object/id.ts';
import type { PackageContent } from '../package/package-content.ts';
import type { OnStep } from './durable-files.ts';
import { renderListing } from './package-listing.ts';
import { addPackage } from './packages.ts';
import { migrate } from './schema.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

export interface FoundPackage {
  readonly content: PackageContent;
  /** Why it is no longer on the shelf, where it is not. */
  readonly why: 'deleted' | 'replaced' | undefined;
  /** When it was put on the shelf, or went: milliseconds since 1970. */
  readonly at: number;
}

/**
 * The file alone has all of it when this returns.
 * @param packages the latest first: of several of a KO, that one is on the shelf. @returns the KOs that are.
 */
export async function makeDatabase(
  file: string,
  root: string,
  packages: readonly FoundPackage[],
  onStep?: OnStep,
): Promise<ReadonlySet<string>> {
  await using database = await SqliteDatabase.open(file, { onStep });
  await migrate(database, root);
  const shown = new Set<string>();
  await database.transaction(async ({ query }) => {
    for (const { content, why, at } of packages) {
      const { entry, files } = content;
      const { id, digest } = entry;
      const [key, listing] = [koKey(id), renderListing(id, files.values()).digest];
      await addPackage(query, database.dialect, content);
      if (why !== undefined || shown.has(key))
        await query(
          'INSERT INTO retained (id, digest, listing, at, why) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING',
          [key, digest, listing, Math.round(at), why ?? 'replaced'],
        );
      else {
        shown.add(key);
        await query(
          `INSERT INTO ko (id, name, digest, listing, metadata, at_id, etag, removed, revision)
            VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)`,
          [
            ...[key, `${id.naan}/${id.name}`, digest, listing, entry.metadata, entry.atId ?? null, entry.etag],
            shown.size,
          ],
        );
      }
    }
    await query('UPDATE state SET revision = $1', [shown.size]);
  });
  await database.query('PRAGMA wal_checkpoint(TRUNCATE)');
  return shown;
}
