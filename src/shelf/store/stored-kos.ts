/** What the rows of `ko` say, held in memory: reads that serve calls are answered from here. */
import { koKey, parseKoId, type KoId } from '../../knowledge-object/id.ts';
import type { ChangeLog } from '../change-log.ts';
import type { ShelfEntry } from '../shelf.ts';
import type { Query, Row } from './database.ts';

export interface KoRow extends Row {
  readonly id: string;
  readonly digest: string | null;
  readonly metadata: string | null;
  readonly at_id: string | null;
  readonly etag: string | null;
  readonly revision: number;
  readonly removed: number;
}

export const KO_COLUMNS = 'id, digest, metadata, at_id, etag, revision, removed';
/** Rows that are asked for at a time. */
const PAGE = 2000;

/** Undefined for what was removed. */
export function entryOf({ id: key, digest, metadata, at_id: atId, etag, removed }: KoRow): ShelfEntry | undefined {
  const id = parseKoId(key);
  if (removed === 1 || id === undefined || digest === null || metadata === null || etag === null) return undefined;
  return { id, ...(atId === null ? {} : { atId }), metadata, digest, etag };
}

export class StoredKos {
  readonly #changes: ChangeLog;
  readonly #entries = new Map<string, ShelfEntry>();

  constructor(changes: ChangeLog) {
    this.#changes = changes;
  }

  get size(): number {
    return this.#entries.size;
  }

  all(): Iterable<ShelfEntry> {
    return this.#entries.values();
  }

  find(id: KoId): ShelfEntry | undefined {
    return this.#entries.get(koKey(id));
  }

  /** Reads all, and tells of what is other than before. */
  async load(query: Query, schema: string): Promise<void> {
    const gone = new Map(this.#entries);
    const sql = `SELECT ${KO_COLUMNS} FROM ${schema}ko WHERE removed = 0 AND id > $1 ORDER BY id LIMIT ${String(PAGE)}`;
    for (let after = ''; ;) {
      const { rows } = await query<KoRow>(sql, [after]);
      for (const row of rows) {
        this.show(row);
        gone.delete(row.id);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      after = last.id;
    }
    for (const [key, { id }] of gone) {
      this.#entries.delete(key);
      this.#changes.note(id);
    }
  }

  show(row: KoRow): void {
    const before = this.#entries.get(row.id);
    const entry = entryOf(row);
    if (entry === undefined) this.#entries.delete(row.id);
    else this.#entries.set(row.id, entry);
    const changed = entry ?? before;
    if (changed !== undefined && before?.etag !== entry?.etag) this.#changes.note(changed.id);
  }
}
