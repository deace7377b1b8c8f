/** What the fleet has on its shelf, held in memory: all reads are answered from it. */
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { ChangeLog } from '../change-log.ts';
import { EntryIndex } from '../entry-index.ts';
import type { ShelfEntry } from '../shelf.ts';
import type { Row } from './connection.ts';
import type { Query } from './database.ts';

/** A row of `ko`. */
export interface KoRow extends Row {
  readonly naan: string;
  readonly name: string;
  readonly version: string;
  readonly digest: string | null;
  readonly metadata: string | null;
  readonly at_id: string | null;
  readonly etag: string | null;
  readonly revision: number;
  readonly removed: boolean;
}

export const KO_COLUMNS = 'naan, name, version, digest, metadata, at_id, etag, revision, removed';
/** Rows that are asked for at a time. */
export const PAGE = 2000;
/** Changes that are remembered; who is further behind looks at all. */
const MOST_RECENT = 4096;

/** Undefined for what was removed. */
export function entryOf(row: KoRow): ShelfEntry | undefined {
  const { naan, name, version, digest, metadata, at_id: atId, etag, removed } = row;
  if (removed || digest === null || metadata === null || etag === null) return undefined;
  return { id: { naan, name, version }, ...(atId === null ? {} : { atId }), metadata, digest, etag };
}

export class SharedIndex {
  /** Of this process alone, for what is derived from the entries. */
  readonly #changes = new ChangeLog();
  readonly entries: EntryIndex;
  readonly #kos = new Map<string, ShelfEntry>();
  /** Of the shelf in the database: all changes up to it are here. */
  #revision = -1;
  #mark: string | undefined;
  /** The last to be changed, with the revision at which that was seen. */
  #recent: { readonly revision: number; readonly id: KoId }[] = [];
  /** From which on all changes are in `#recent`. */
  #recentFrom = 0;
  /** Hears that it is other than before. */
  onChange: () => void = () => undefined;

  constructor() {
    this.entries = new EntryIndex({ find: (id) => this.find(id), all: () => this.#kos.values() }, this.#changes);
  }

  get revision(): number {
    return this.#revision;
  }

  /** Whether it holds what the shelf had at some time. */
  get isLoaded(): boolean {
    return this.#revision >= 0;
  }

  /** The KOs that changed after a revision; undefined where that is too long ago, or of another history. */
  since(revision: number): readonly KoId[] | undefined {
    if (revision < this.#recentFrom || revision > this.#revision) return undefined;
    return this.#recent.filter((each) => each.revision > revision).map(({ id }) => id);
  }

  find(id: KoId): ShelfEntry | undefined {
    return this.#kos.get(koKey(id));
  }

  /** Whether the database still goes on from where this index is, and has not lost changes with a server. */
  continues(revision: number, mark: string): boolean {
    return revision === this.#revision && mark === this.#mark;
  }

  /** Rows that came after the revision of the index, with all others up to `revision`, whose mark may not be known. */
  apply(rows: readonly KoRow[], revision: number, mark: string | undefined): void {
    const before = this.#revision;
    for (const row of rows) if (row.revision > before) this.#show(row, row.revision);
    const reached = rows.reduce((most, row) => Math.max(most, row.revision), revision);
    if (reached < this.#revision) return;
    this.#revision = reached;
    // With later rows than the revision, the mark is that of an earlier one.
    this.#mark = reached === revision ? mark : undefined;
    if (reached !== before) this.onChange();
  }

  /** Reads all anew, and tells of what is other than before; of what is as before only the digest is read. */
  async load({ schema, query }: { schema: string; query: Query }, revision: number, mark: string): Promise<void> {
    const seen = new Set<string>();
    const known = this.#kos.size > 0;
    const columns = known ? KO_COLUMNS.replace('metadata', 'NULL::text AS metadata') : KO_COLUMNS;
    const sql = `SELECT ${columns} FROM ${schema}.ko WHERE NOT removed AND (naan, name, version) > ($1, $2, $3)
      ORDER BY naan, name, version LIMIT ${String(PAGE)}`;
    for (let after = ['', '', '']; ;) {
      const { rows } = await query<KoRow>(sql, after);
      const others = rows.filter((row) => this.#kos.get(koKey(row))?.etag !== row.etag);
      for (const row of known ? await rowsOf({ schema, query }, others) : rows) this.#show(row, revision);
      for (const row of rows) seen.add(koKey(row));
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      after = [last.naan, last.name, last.version];
    }
    for (const [key, { id }] of this.#kos) {
      if (seen.has(key)) continue;
      this.#kos.delete(key);
      this.#note(id, revision);
    }
    // What changed meanwhile is not all known; with another history, nothing of the old one is.
    if (!known || revision < this.#revision) {
      this.#recent = [];
      this.#recentFrom = revision;
    }
    this.#revision = revision;
    this.#mark = mark;
    this.onChange();
  }

  #note(id: KoId, revision: number): void {
    this.#changes.note(id);
    this.#recent.push({ revision, id });
    if (this.#recent.length <= 2 * MOST_RECENT) return;
    this.#recent = this.#recent.slice(-MOST_RECENT);
    this.#recentFrom = this.#recent[0]?.revision ?? revision;
  }

  #show(row: KoRow, revision: number): void {
    const key = koKey(row);
    const before = this.#kos.get(key);
    const entry = entryOf(row);
    if (entry === undefined) this.#kos.delete(key);
    else this.#kos.set(key, entry);
    const { naan, name, version } = row;
    // What came and went since the last look has changed too.
    if (entry === undefined || before?.etag !== entry.etag) this.#note({ naan, name, version }, revision);
  }
}

async function rowsOf(
  { schema, query }: { schema: string; query: Query },
  ids: readonly KoId[],
): Promise<readonly KoRow[]> {
  if (ids.length === 0) return [];
  const sql = `SELECT ${KO_COLUMNS} FROM ${schema}.ko
    WHERE (naan, name, version) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`;
  const values = [ids.map(({ naan }) => naan), ids.map(({ name }) => name), ids.map(({ version }) => version)];
  return (await query<KoRow>(sql, values)).rows;
}
