/** What the rows of `ko` say, held in memory: reads that serve calls are answered from here. */
import { koKey, parseKoId, type KoId } from '../../knowledge-object/id.ts';
import type { ChangeLog } from '../change-log.ts';
import type { ShelfEntry } from '../shelf.ts';
import type { Dialect, Query, Row } from './database.ts';

export interface KoRow extends Row {
  readonly id: string;
  readonly digest: string | null;
  readonly metadata: string | null;
  readonly at_id: string | null;
  readonly etag: string | null;
  readonly folder: string | null;
  readonly revision: number;
  readonly removed: number;
}

export const KO_COLUMNS = 'id, digest, metadata, at_id, etag, folder, revision, removed';
/** Rows that are asked for at a time. */
export const PAGE = 2000;

/** Undefined for what was removed. */
export function entryOf({ id: key, digest, metadata, at_id: atId, etag, removed }: KoRow): ShelfEntry | undefined {
  const id = parseKoId(key);
  if (removed === 1 || id === undefined || digest === null || metadata === null || etag === null) return undefined;
  return { id, ...(atId === null ? {} : { atId }), metadata, digest, etag };
}

export class StoredKos {
  readonly #changes: ChangeLog;
  readonly #entries = new Map<string, ShelfEntry>();
  /** Paths below the shelf. */
  readonly #folders = new Map<string, string>();
  #revision = -1;

  constructor(changes: ChangeLog) {
    this.#changes = changes;
  }

  /** Of the shelf in the database: all changes up to it are here. Negative before all was read once. */
  get revision(): number {
    return this.#revision;
  }

  all(): Iterable<ShelfEntry> {
    return this.#entries.values();
  }

  find(id: KoId): ShelfEntry | undefined {
    return this.#entries.get(koKey(id));
  }

  /** Where a KO lies that a person put on the shelf as a folder; undefined for all others. */
  folderOf(id: KoId): string | undefined {
    return this.#folders.get(koKey(id));
  }

  /** Reads all, and tells of what is other than before. @param revision at which the database is at least. */
  async load(query: Query, dialect: Dialect, revision: number): Promise<void> {
    const { schema } = dialect;
    const gone = new Map(this.#entries);
    // Metadata are long: those that are known are not read again.
    const isFirst = gone.size === 0;
    const columns = isFirst ? KO_COLUMNS : 'id, etag, folder';
    const sql = `SELECT ${columns} FROM ${schema}ko WHERE removed = 0 AND id > $1 ORDER BY id LIMIT ${String(PAGE)}`;
    for (let after = ''; ;) {
      const { rows } = await query<KoRow>(sql, [after]);
      const others = rows.filter(
        ({ id, etag, folder }) =>
          this.#entries.get(id)?.etag !== etag || this.#folders.get(id) !== (folder ?? undefined),
      );
      for (const row of isFirst ? others : await rowsOf(query, dialect, others)) this.#show(row);
      for (const { id } of rows) gone.delete(id);
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      after = last.id;
    }
    for (const [key, { id }] of gone) {
      this.#entries.delete(key);
      this.#folders.delete(key);
      this.#changes.note(id);
    }
    this.#revision = revision;
  }

  /** Rows that changed after the revision that is known, with all others up to `revision`. */
  apply(rows: readonly KoRow[], revision: number): void {
    for (const row of rows) if (row.revision > this.#revision) this.#show(row);
    this.#revision = Math.max(this.#revision, revision);
  }

  #show(row: KoRow): void {
    const before = this.#entries.get(row.id);
    const entry = entryOf(row);
    if (entry === undefined) this.#entries.delete(row.id);
    else this.#entries.set(row.id, entry);
    if (entry === undefined || row.folder === null) this.#folders.delete(row.id);
    else this.#folders.set(row.id, row.folder);
    const id = (entry ?? before)?.id ?? parseKoId(row.id);
    // What came and went since the last look has changed too.
    if (id !== undefined && (entry === undefined || before?.etag !== entry.etag)) this.#changes.note(id);
  }
}

async function rowsOf(
  query: Query,
  { schema, texts }: Dialect,
  rows: readonly Pick<KoRow, 'id'>[],
): Promise<readonly KoRow[]> {
  if (rows.length === 0) return [];
  const sql = `SELECT ${KO_COLUMNS} FROM ${schema}ko WHERE id IN (SELECT value FROM ${texts('$1')})`;
  return (await query<KoRow>(sql, [JSON.stringify(rows.map(({ id }) => id))])).rows;
}
