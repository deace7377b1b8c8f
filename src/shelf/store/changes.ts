/** Changes of what is on the shelf: each is one transaction, together with its record in the audit. */
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { appendAudit } from '../audit/audit-table.ts';
import { currentAuthor, noteKept } from '../change-author.ts';
import { changeRecord, type ChangeAction } from '../change-record.ts';
import type { PackageContent } from '../package/package-content.ts';
import type { ShelfEntry } from '../shelf.ts';
import type { Database, Query } from './database.ts';
import type { ObjectsFolder } from './objects-folder.ts';
import { renderListing } from './package-listing.ts';
import { addPackage, removeUnused } from './packages.ts';
import type { Retained } from './retained.ts';
import { entryOf, KO_COLUMNS, type KoRow, type StoredKos } from './stored-kos.ts';

/** One change, while nobody else changes the shelf. */
export interface OpenChange {
  readonly query: Query;
  /** What the row says now. */
  readonly before: ShelfEntry | undefined;
  /** Makes this the package of the KO. Its files must be stored already. */
  put(content: PackageContent): Promise<void>;
  /** Takes the KO off the shelf. */
  remove(): Promise<void>;
  /** Retains a package that is on the shelf in another way than by a row. Its files must be stored already. */
  retain(content: PackageContent, why: 'deleted' | 'replaced'): Promise<void>;
}

export interface ChangesOptions {
  readonly database: Database;
  readonly kos: StoredKos;
  readonly retained: Retained;
  readonly objects: ObjectsFolder;
}

export class ShelfChanges {
  readonly #options: ChangesOptions;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /**
   * @param action in the words of the audit; undefined for what is a part of another change.
   * @param work may run several times. @throws what the work throws, after which nothing is changed.
   */
  async run<T>(id: KoId, action: ChangeAction | undefined, work: (change: OpenChange) => Promise<T>): Promise<T> {
    const { database, kos, objects } = this.#options;
    const author = action === undefined ? undefined : currentAuthor();
    const { result, written, change } = await database.transaction(async ({ query }) => {
      const { schema, forUpdate } = database.dialect;
      await query(`SELECT revision FROM ${schema}state${forUpdate}`);
      const sql = `SELECT ${KO_COLUMNS}, listing FROM ${schema}ko WHERE id = $1 AND removed = 0`;
      const { rows } = await query<ListedRow>(sql, [koKey(id)]);
      const change = new Change(this.#options, query, id, rows[0]);
      const result = await work(change);
      if (change.given.length > 0) await this.discard(query, id, change.given);
      const { written, before } = change;
      if (author !== undefined && action !== undefined && written !== undefined)
        await appendAudit(query, database, changeRecord(author, action, id, before, entryOf(written)));
      return { result, written, change };
    });
    if (change.listed !== undefined) await objects.mark(change.listed, true);
    if (change.unlisted !== undefined && change.unlisted !== change.listed) await objects.mark(change.unlisted, false);
    if (written === undefined) return result;
    kos.show(written);
    if (author !== undefined && action !== undefined) noteKept({ action, subject: koKey(id) });
    return result;
  }

  /** Gives back what is retained of a KO beyond the bounds, and those of `given` that nothing refers to. @returns how many. */
  async discard(query: Query, id: KoId, given: readonly string[] = []): Promise<number> {
    const { retained, database } = this.#options;
    const go = (await retained.sorted(query, id)).go.map(({ digest }) => digest);
    if (go.length > 0) await retained.drop(query, id, go);
    await removeUnused(query, database.dialect, [...go, ...given]);
    return go.length;
  }
}

type ListedRow = KoRow & { readonly listing: string | null };

class Change implements OpenChange {
  readonly query: Query;
  readonly before: ShelfEntry | undefined;
  /** The row as it is after the change. */
  written: KoRow | undefined;
  /** The listing of the package that came, and of the one that went. */
  listed: string | undefined;
  unlisted: string | undefined;
  /** Digests of packages to which the KO refers no longer. */
  readonly given: string[] = [];
  readonly #options: ChangesOptions;
  readonly #id: KoId;
  readonly #listing: string;

  constructor(options: ChangesOptions, query: Query, id: KoId, row: ListedRow | undefined) {
    this.#options = options;
    this.query = query;
    this.#id = id;
    this.before = row && entryOf(row);
    this.#listing = row?.listing ?? '';
  }

  async put(content: PackageContent): Promise<void> {
    const { retained, database } = this.#options;
    const { entry, files } = content;
    await addPackage(this.query, database.dialect, content);
    const listing = renderListing(this.#id, files.values()).digest;
    this.listed = listing;
    await this.#write([entry.digest, listing, entry.metadata, entry.atId ?? null, entry.etag, 0]);
    await retained.drop(this.query, this.#id, [entry.digest]);
    if (this.before !== undefined && this.before.digest !== entry.digest) await this.#give(this.before, 'replaced');
  }

  async remove(): Promise<void> {
    if (this.before === undefined) return;
    await this.#write([null, null, null, null, null, 1]);
    await this.#give(this.before, 'deleted');
  }

  async retain(content: PackageContent, why: 'deleted' | 'replaced'): Promise<void> {
    const { retained, database } = this.#options;
    if (!retained.isKept) return;
    await addPackage(this.query, database.dialect, content);
    const { digest } = content.entry;
    const listing = renderListing(this.#id, content.files.values()).digest;
    this.unlisted = listing;
    await retained.add(this.query, this.#id, { digest, listing }, why);
    this.given.push(digest);
  }

  async #give({ digest }: ShelfEntry, why: 'deleted' | 'replaced'): Promise<void> {
    this.unlisted = this.#listing;
    await this.#options.retained.add(this.query, this.#id, { digest, listing: this.#listing }, why);
    this.given.push(digest);
  }

  async #write(columns: readonly (string | number | null)[]): Promise<void> {
    const { schema } = this.#options.database.dialect;
    const { rows: states } = await this.query<{ revision: number }>(
      `UPDATE ${schema}state SET revision = revision + 1 RETURNING revision`,
    );
    const { naan, name } = this.#id;
    const { rows } = await this.query<KoRow>(
      `INSERT INTO ${schema}ko (id, name, digest, listing, metadata, at_id, etag, removed, revision)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, listing = excluded.listing, metadata = excluded.metadata,
          at_id = excluded.at_id, etag = excluded.etag, removed = excluded.removed, revision = excluded.revision
        RETURNING ${KO_COLUMNS}`,
      [koKey(this.#id), `${naan}/${name}`, ...columns, states[0]?.revision ?? 0],
    );
    this.written = rows[0];
  }
}
