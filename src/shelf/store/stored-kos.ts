/** What the rows of `ko` say, held in memory: reads that serve calls are answered from here. */
import { koKey, parseKoId, type KoId } from '../../knowledge-object/id.ts';
import { compareIds, compareNames } from '../../knowledge-object/id.ts';
import { plainAtId, threeParts } from '../../knowledge-object/places.ts';
import { firstWhere } from '../../lib/first-where.ts';
import type { ListRange, ShelfEntry } from '../shelf.ts';
import { pagesOf, type Dialect, type Query, type Row } from './database.ts';

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
/** Ids of what changed; who is further behind looks at all. */
const MOST_CHANGES = 4096;
/** With more changes than this it is quicker to sort all anew. */
const MOST_PLACED = 64;

/** Undefined for what was removed. */
export function entryOf({ id: key, digest, metadata, at_id: atId, etag, removed }: KoRow): ShelfEntry | undefined {
  const id = parseKoId(key);
  if (removed === 1 || id === undefined || digest === null || metadata === null || etag === null) return undefined;
  return { id, ...(atId === null ? {} : { atId }), metadata, digest, etag };
}

export class StoredKos {
  readonly #entries = new Map<string, ShelfEntry>();
  /** Paths below the shelf. */
  readonly #folders = new Map<string, string>();
  /** Of each `@id` that is not its place, where its KOs stand. */
  readonly #places = new Map<string, Set<string>>();
  #revision = -1;
  /** How many changes there were, and the last of them. */
  #changes = 0;
  #changed: KoId[] = [];
  #listed: { readonly at: number; readonly entries: readonly ShelfEntry[] } = { at: 0, entries: [] };

  /** Of the shelf in the database: all changes up to it are here. Negative before all was read once. */
  get revision(): number {
    return this.#revision;
  }

  /** Grows with each change. */
  get changes(): number {
    return this.#changes;
  }

  find(id: KoId): ShelfEntry | undefined {
    return this.#entries.get(koKey(id));
  }

  /** Where a KO lies that a person put on the shelf as a folder; undefined for all others. */
  folderOf(id: KoId): string | undefined {
    return this.#folders.get(koKey(id));
  }

  /** What changed since there were so many changes, some perhaps twice; undefined where that is too long ago to be known. */
  since(changes: number): readonly KoId[] | undefined {
    const many = this.#changes - changes;
    return many < 0 || many > this.#changed.length ? undefined : this.#changed.slice(this.#changed.length - many);
  }

  /** By naan, name and natural version. */
  list({ after, limit }: ListRange = {}): readonly ShelfEntry[] {
    const entries = this.#inOrder();
    if (after === undefined && limit === undefined) return entries;
    const first = after === undefined ? 0 : firstWhere(entries, ({ id }) => compareIds(id, after) > 0);
    return entries.slice(first, limit === undefined ? undefined : first + limit);
  }

  /** The versions of one KO, oldest first. */
  versions(naan: string, name: string): readonly ShelfEntry[] {
    const entries = this.#inOrder();
    const first = firstWhere(entries, ({ id }) => compareNames(id, { naan, name }) >= 0);
    let end = first;
    for (let id = entries[end]?.id; id?.naan === naan && id.name === name; id = entries[end]?.id) end++;
    return entries.slice(first, end);
  }

  /** The entries of an `@id` in any of its spellings, the oldest version first. */
  withAtId(atId: string): readonly ShelfEntry[] {
    const plain = plainAtId(atId);
    const own = threeParts(plain);
    const there = own && this.find(own);
    return [there?.atId === undefined ? there : undefined, ...this.#at(plain)]
      .filter((entry) => entry !== undefined)
      .sort((a, b) => compareIds(a.id, b.id));
  }

  /** Reads all, and tells of what is other than before. @param revision at which the database is at least. */
  async load(query: Query, dialect: Dialect, revision: number): Promise<void> {
    const gone = new Set(this.#entries.keys());
    // Metadata are long: those that are known are not read again.
    const isFirst = gone.size === 0;
    const columns = isFirst ? KO_COLUMNS : 'id, etag, folder';
    const all = `SELECT ${columns} FROM ${dialect.schema}ko WHERE removed = 0`;
    for await (const rows of pagesOf<KoRow>(query, all, 'id', PAGE)) {
      const others = rows.filter(
        ({ id, etag, folder }) =>
          this.#entries.get(id)?.etag !== etag || this.#folders.get(id) !== (folder ?? undefined),
      );
      for (const row of isFirst ? others : await rowsOf(query, dialect, others)) this.#show(row);
      for (const { id } of rows) gone.delete(id);
    }
    for (const key of gone) this.#put(key, undefined, null);
    this.#revision = revision;
  }

  /** Rows that changed after the revision that is known, with all others up to `revision`. */
  apply(rows: readonly KoRow[], revision: number): void {
    for (const row of rows) if (row.revision > this.#revision) this.#show(row);
    this.#revision = Math.max(this.#revision, revision);
  }

  #show(row: KoRow): void {
    this.#put(row.id, entryOf(row), row.folder);
  }

  #put(key: string, entry: ShelfEntry | undefined, folder: string | null): void {
    const before = this.#entries.get(key);
    if (entry === undefined) this.#entries.delete(key);
    else this.#entries.set(key, entry);
    if (entry === undefined || folder === null) this.#folders.delete(key);
    else this.#folders.set(key, folder);
    const id = (entry ?? before)?.id ?? parseKoId(key);
    // What came and went since the last look has changed too.
    if (id === undefined || (entry !== undefined && before?.etag === entry.etag)) return;
    this.#changes++;
    this.#changed.push(id);
    if (this.#changed.length > 2 * MOST_CHANGES) this.#changed = this.#changed.slice(-MOST_CHANGES);
    if (before?.atId === entry?.atId) return;
    if (before?.atId !== undefined) this.#places.get(before.atId)?.delete(key);
    if (entry?.atId !== undefined)
      this.#places.set(entry.atId, (this.#places.get(entry.atId) ?? new Set<string>()).add(key));
  }

  #at(atId: string): readonly (ShelfEntry | undefined)[] {
    return [...(this.#places.get(atId) ?? [])].map((key) => this.#entries.get(key));
  }

  /** All, at the cost of what changed since the last time. */
  #inOrder(): readonly ShelfEntry[] {
    const { at, entries } = this.#listed;
    if (at === this.#changes) return entries;
    const changed = this.since(at);
    const now =
      changed === undefined || changed.length > MOST_PLACED
        ? [...this.#entries.values()].sort((a, b) => compareIds(a.id, b.id))
        : this.#placed(entries, changed);
    this.#listed = { at: this.#changes, entries: now };
    return now;
  }

  /** The entries, with those of these ids as they are now. */
  #placed(entries: readonly ShelfEntry[], changed: readonly KoId[]): ShelfEntry[] {
    const placed = [...entries];
    for (const id of changed) {
      const at = firstWhere(placed, (other) => compareIds(other.id, id) >= 0);
      const there = placed[at];
      const now = this.find(id);
      const isThere = there !== undefined && compareIds(there.id, id) === 0;
      placed.splice(at, isThere ? 1 : 0, ...(now === undefined ? [] : [now]));
    }
    return placed;
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
