/** The rows of `package`: what is stored, and which files it has. */
import type { HashedFile, PackageContent } from '../package/package-content.ts';
import { pagesOf, type Database, type Dialect, type Query } from './database.ts';
import { parseFiles, renderFiles } from './package-listing.ts';

/** For which what an installation fetched is kept without anybody asking for it. */
const FETCHED_FOR_MS = 30 * 86_400_000;
/** Rows that are read at a time. */
const PAGE = 500;

/** The package, whose files are stored. */
export async function addPackage(query: Query, { schema, now }: Dialect, content: PackageContent): Promise<void> {
  const files = [...content.files.values()];
  await query(
    `INSERT INTO ${schema}package (digest, files, size, stored) VALUES ($1, $2, $3, ${now})
      ON CONFLICT (digest) DO UPDATE SET stored = excluded.stored WHERE package.stored = 0`,
    [content.entry.digest, renderFiles(files), files.reduce((sum, { size }) => sum + size, 0)],
  );
}

/** Undefined where no such package is stored. @throws Error for a row that was not written here. */
export async function filesOf(
  query: Query,
  { schema }: Dialect,
  digest: string,
): Promise<readonly HashedFile[] | undefined> {
  const { rows } = await query<{ files: string }>(`SELECT files FROM ${schema}package WHERE digest = $1`, [digest]);
  return rows[0] && parseFiles(rows[0].files);
}

/** When a package of this digest was stored first, of those that are; undefined where none is. */
export async function storedAt(query: Query, { schema }: Dialect, digest: string): Promise<Date | undefined> {
  const { rows } = await query<{ stored: number }>(
    `SELECT stored FROM ${schema}package WHERE digest = $1 AND stored > 0`,
    [digest],
  );
  return rows[0] && new Date(Number(rows[0].stored));
}

/** Removes the packages that nothing refers to, of these or of all; their files go later. */
export async function removeUnused(
  query: Query,
  { schema, texts }: Dialect,
  digests?: readonly string[],
): Promise<void> {
  if (digests?.length === 0) return;
  await query(
    `DELETE FROM ${schema}package WHERE ${digests === undefined ? '' : `digest IN (SELECT value FROM ${texts('$1')}) AND`}
      NOT EXISTS (SELECT 1 FROM ${schema}ko WHERE ko.digest = package.digest)
      AND NOT EXISTS (SELECT 1 FROM ${schema}retained WHERE retained.digest = package.digest)
      AND NOT EXISTS (SELECT 1 FROM ${schema}active WHERE active.digest = package.digest)`,
    digests === undefined ? [] : [JSON.stringify(digests)],
  );
}

/** The digests of all objects that a row names. */
export async function namedObjects(query: Query, { schema }: Dialect): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  const listings = await query<{ listing: string }>(
    `SELECT listing FROM ${schema}ko WHERE listing IS NOT NULL UNION SELECT listing FROM ${schema}retained`,
  );
  for (const { listing } of listings.rows) named.add(listing);
  const all = `SELECT digest, files FROM ${schema}package WHERE stored > 0`;
  for await (const rows of pagesOf<{ digest: string; files: string }>(query, all, 'digest', PAGE))
    for (const { files } of rows) for (const { sha256 } of parseFiles(files)) named.add(sha256);
  return named;
}

/** Whether a row names an object. */
export async function isNamed(query: Query, { schema }: Dialect, digest: string): Promise<boolean> {
  const { rows } = await query(
    `SELECT 1 AS found FROM ${schema}package WHERE stored > 0 AND files LIKE '%' || $1 || '%'
      UNION ALL SELECT 1 FROM ${schema}ko WHERE listing = $1 UNION ALL SELECT 1 FROM ${schema}retained WHERE listing = $1`,
    [digest],
  );
  return rows.length > 0;
}

/**
 * Forgets KOs that were removed, once every node has seen that they were, and packages that were active last. Who comes
 * back later reads all rows.
 */
export function forgetRemoved(database: Database): Promise<void> {
  const { schema } = database.dialect;
  const passed = database.isShared ? `(SELECT min(revision) FROM ${schema}node)` : 'revision';
  return database.transaction(
    async ({ query }) => {
      const { rows } = await query<{ revision: number }>(
        `DELETE FROM ${schema}ko WHERE removed = 1 AND revision <= ${passed} RETURNING revision`,
      );
      const last = rows.reduce((most, { revision }) => Math.max(most, revision), 0);
      if (last > 0) await query(`UPDATE ${schema}state SET changes_from = $1 WHERE changes_from < $1`, [last]);
      await removeUnused(query, database.dialect);
      await query(`DELETE FROM ${schema}fetched WHERE at < ${database.dialect.now} - ${String(FETCHED_FOR_MS)}`);
    },
    { isExclusive: true },
  );
}
