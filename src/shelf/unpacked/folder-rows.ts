/** The rows of KOs that people put on the shelf as folders: many are written at once, in one transaction. */
import { koKey, parseKoId, type KoId } from '../../knowledge-object/id.ts';
import { renderFiles } from '../store/package-listing.ts';
import { removeUnused } from '../store/packages.ts';
import { placesOf, type Database, type Dialect, type Query, type Value } from '../store/database.ts';
import { advance, readState } from '../store/state.ts';
import type { PackageContent } from '../package/package-content.ts';

/** What the row of a KO says of its folder. */
export interface FolderRow {
  readonly id: KoId;
  readonly atId: string | undefined;
  readonly where: string;
  /** Nothing changed in the folder while this is the same; undefined where that is not sure. */
  readonly stamp: string | undefined;
  readonly etag: string;
}

export interface FolderChanges {
  readonly came: readonly {
    readonly content: PackageContent;
    readonly where: string;
    readonly stamp: string | undefined;
  }[];
  readonly gone: readonly KoId[];
}

/** All that are on the shelf as folders. */
export async function folderRows({ query, dialect: { schema } }: Database): Promise<FolderRow[]> {
  const { rows } = await query<{
    id: string;
    at_id: string | null;
    folder: string;
    stamp: string | null;
    etag: string;
  }>(`SELECT id, at_id, folder, stamp, etag FROM ${schema}ko WHERE removed = 0 AND folder IS NOT NULL`);
  return rows.flatMap(({ id: key, at_id: atId, folder, stamp, etag }) => {
    const id = parseKoId(key);
    return id === undefined ? [] : [{ id, atId: atId ?? undefined, where: folder, stamp: stamp ?? undefined, etag }];
  });
}

/** Which of these KOs are on the shelf by an import. */
export async function imported(
  { query, dialect: { schema, texts } }: Database,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const { rows } = await query<{ id: string }>(
    `SELECT id FROM ${schema}ko WHERE removed = 0 AND folder IS NULL AND id IN (SELECT value FROM ${texts('$1')})`,
    [JSON.stringify(keys)],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * A row that an import wrote meanwhile stays.
 * @param isCounted false in a copy of the database, where what is written is no change of the shelf.
 */
export function writeFolders(database: Database, { came, gone }: FolderChanges, isCounted: boolean): Promise<void> {
  const { dialect } = database;
  const rows = [...came.map(rowOf), ...gone.map(rowWithout)];
  const ids = rows.map(([id]) => id);
  return database.transaction(
    async ({ query, tellOthers }) => {
      const { revision } = await countedIn(query, dialect, isCounted ? rows.length : 0);
      const before = await query<{ digest: string }>(
        `SELECT digest FROM ${dialect.schema}ko WHERE folder IS NOT NULL AND id IN (SELECT value FROM ${dialect.texts('$1')})`,
        [JSON.stringify(ids)],
      );
      await addPackages(
        query,
        dialect,
        came.map(({ content }) => content),
      );
      const numbered = rows.map((row, at) => [...row, isCounted ? revision + at + 1 : revision]);
      await query(
        `INSERT INTO ${dialect.schema}ko (id, name, digest, metadata, at_id, etag, folder, stamp, removed, revision)
          VALUES ${placesOf(numbered)} ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, listing = NULL,
            metadata = excluded.metadata, at_id = excluded.at_id, etag = excluded.etag, folder = excluded.folder,
            stamp = excluded.stamp, removed = excluded.removed, revision = excluded.revision
          WHERE ko.removed = 1 OR ko.folder IS NOT NULL`,
        numbered.flat(),
      );
      await removeUnused(query, dialect, [
        ...before.rows.map(({ digest }) => digest),
        ...came.map(({ content }) => content.entry.digest),
      ]);
      if (isCounted) tellOthers();
    },
    { isExclusive: true },
  );
}

/** Nothing changed in these folders but their stamps. Never rejects: without them the next start reads more. */
export async function writeStamps({ query, dialect }: Database, rows: readonly FolderRow[]): Promise<void> {
  const stamps = rows.map(({ id, stamp }) => [koKey(id), stamp ?? null]);
  const sql = `UPDATE ${dialect.schema}ko SET stamp = found.column2 FROM (VALUES ${placesOf(stamps)}) AS found
    WHERE ko.id = found.column1 AND ko.folder IS NOT NULL`;
  await query(sql, stamps.flat()).catch(() => undefined);
}

/** @returns the revision before. */
async function countedIn(query: Query, dialect: Dialect, many: number): Promise<{ readonly revision: number }> {
  const state = await readState(query, dialect);
  if (many > 0) await advance(query, dialect, state, 'revision', many);
  return state;
}

/** Their files are not among the objects: `stored` is 0. */
async function addPackages(query: Query, { schema }: Dialect, contents: readonly PackageContent[]): Promise<void> {
  const rows = contents.map(({ entry, files }) => {
    const all = [...files.values()];
    return [entry.digest, renderFiles(all), all.reduce((sum, { size }) => sum + size, 0), 0];
  });
  if (rows.length > 0)
    await query(
      `INSERT INTO ${schema}package (digest, files, size, stored) VALUES ${placesOf(rows)} ON CONFLICT (digest) DO NOTHING`,
      rows.flat(),
    );
}

type Row = readonly [id: string, ...Value[]];

const rowOf = ({ content: { entry }, where, stamp }: FolderChanges['came'][number]): Row => [
  ...([koKey(entry.id), `${entry.id.naan}/${entry.id.name}`, entry.digest, entry.metadata] as const),
  ...[entry.atId ?? null, entry.etag, where, stamp ?? null, 0],
];

const rowWithout = (id: KoId): Row => [koKey(id), `${id.naan}/${id.name}`, null, null, null, null, null, null, 1];
