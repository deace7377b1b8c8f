/** Changes of what is on the shelf: each is one transaction, together with its record in the audit. */
import { setTimeout as wait } from 'node:timers/promises';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { appendAudit, type AuditHead } from '../audit/audit-table.ts';
import { changeRecord, type ChangeAction, type ChangeAuthor } from '../change-author.ts';
import type { PackageContent } from '../package/package-content.ts';
import type { ShelfEntry } from '../shelf.ts';
import type { Database, Query } from './database.ts';
import { mayLive, nodesWhere, untilNone, type NodeId } from './nodes.ts';
import type { Objects } from './objects.ts';
import { renderListing } from './package-listing.ts';
import { addPackage, removeUnused } from './packages.ts';
import type { Retained } from './retained.ts';
import type { ShelfFollower } from './shelf-follower.ts';
import { advance, stateOf, type State } from './state.ts';
import { entryOf, KO_COLUMNS, type KoRow } from './stored-kos.ts';

export interface ChangesOptions {
  readonly database: Database;
  /** This one. */
  readonly node: NodeId;
  readonly follower: ShelfFollower;
  readonly retained: Retained;
  readonly objects: Objects;
  readonly onWarning: (message: string, cause?: unknown) => void;
}

/** Milliseconds for which a change waits for the other nodes. */
const LONGEST_WAIT_FOR_NODES = 2000;

/** All that a change has to know, in one statement. */
interface BeforeRow extends AuditHead {
  readonly reached: number;
  readonly generation: number;
  readonly marks: string;
  /** Other nodes that live. */
  readonly others: number;
  /** Packages of the KO that are retained. */
  readonly kept: number;
  readonly listing: string | null;
}

type FoundRow = BeforeRow & (KoRow | { readonly id: null });

export class ShelfChanges {
  readonly #options: ChangesOptions;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /**
   * @param action in the words of the audit; undefined for what is a part of another change.
   * @param work may run several times. @throws what the work throws, after which nothing is changed.
   */
  async run<T>(
    id: KoId,
    action: ChangeAction | undefined,
    author: ChangeAuthor | undefined,
    work: (change: Change) => Promise<T>,
  ): Promise<T> {
    const { database, objects } = this.#options;
    const { result, change, written, state } = await database.transaction(
      async ({ query, tellOthers }) => {
        const found = await this.#read(query, id);
        const change = new Change(this.#options, query, id, found);
        const result = await work(change);
        const { written, before } = change;
        const state = written && (await advance(query, database.dialect, change.state, 'revision'));
        if (change.given.length > 0) await this.discard(query, id, change.given);
        if (author !== undefined && action !== undefined && written !== undefined)
          await appendAudit(query, database, changeRecord(author, action, id, before, entryOf(written)), found);
        if (written !== undefined) tellOthers();
        return { result, change, written, state };
      },
      { isExclusive: true },
    );
    if (change.listed !== undefined) await objects.mark(change.listed, true);
    if (change.unlisted !== undefined && change.unlisted !== change.listed) await objects.mark(change.unlisted, false);
    if (written === undefined || state === undefined) return result;
    await this.#settle(written, state, change.others);
    if (action !== undefined) author?.noteKept({ action, subject: koKey(id) });
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

  async #read(query: Query, id: KoId): Promise<FoundRow> {
    const { database, node } = this.#options;
    const { schema, now } = database.dialect;
    const others = database.isShared
      ? `(SELECT count(*) FROM ${schema}node WHERE id <> $2 AND ${mayLive(database.dialect)})`
      : '0';
    const { rows } = await query<FoundRow>(
      `SELECT state.revision AS reached, state.generation, state.marks, head.writer, head.last_id, head.number, head.hash,
          ${now} AS now, ${others} AS others, (SELECT count(*) FROM ${schema}retained WHERE id = $1) AS kept, found.*
        FROM ${schema}state CROSS JOIN ${schema}audit_head AS head
          LEFT JOIN (SELECT ${KO_COLUMNS}, listing FROM ${schema}ko WHERE id = $1 AND removed = 0) AS found ON 1 = 1`,
      database.isShared ? [koKey(id), node.value] : [koKey(id)],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the database of the shelf has no state');
    return row;
  }

  /** Here it is seen at once; the other nodes are waited for. */
  async #settle(row: KoRow, state: State, others: number): Promise<void> {
    const { database, node, follower, onWarning } = this.#options;
    if (!follower.take(row, state))
      await Promise.race([
        follower.look().catch(() => undefined),
        wait(LONGEST_WAIT_FOR_NODES, undefined, { ref: false }),
      ]);
    if (others === 0) return;
    const values = [node.value, row.revision];
    // The change is done: what the others have of it is not worth an error.
    const look = () => nodesWhere(database, 'id <> $1 AND revision < $2', values).catch(() => []);
    const behind = await untilNone(look, LONGEST_WAIT_FOR_NODES);
    if (behind.length > 0) onWarning(`${row.id} was changed, and these nodes do not have it yet: ${behind.join(', ')}`);
  }
}

/** One change, while nobody else changes the shelf. */
export class Change {
  readonly query: Query;
  /** What the row says now. */
  readonly before: ShelfEntry | undefined;
  /** Where the KO lies that a person put on the shelf as a folder. */
  readonly folder: string | undefined;
  readonly state: State;
  readonly others: number;
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
  readonly #hasRetained: boolean;
  readonly #now: number;

  constructor(options: ChangesOptions, query: Query, id: KoId, found: FoundRow) {
    this.#options = options;
    this.query = query;
    this.#id = id;
    this.before = found.id === null ? undefined : entryOf(found);
    this.folder = (found.id === null ? undefined : found.folder) ?? undefined;
    this.#listing = found.listing ?? '';
    this.#hasRetained = found.kept > 0;
    this.#now = found.now;
    this.state = stateOf({ ...found, revision: found.reached });
    this.others = found.others;
  }

  /** Makes this the package of the KO. Its files must be stored already. */
  async put(content: PackageContent): Promise<void> {
    const { retained, database } = this.#options;
    const { entry, files } = content;
    await addPackage(this.query, database.dialect, content);
    const listing = renderListing(this.#id, files.values()).digest;
    this.listed = listing;
    await this.#write([entry.digest, listing, entry.metadata, entry.atId ?? null, entry.etag, 0]);
    if (this.#hasRetained) await retained.drop(this.query, this.#id, [entry.digest]);
    if (this.before !== undefined && this.before.digest !== entry.digest) await this.#give(this.before, 'replaced');
  }

  /** Takes the KO off the shelf. */
  async remove(): Promise<void> {
    if (this.before === undefined) return;
    await this.#write([null, null, null, null, null, 1]);
    await this.#give(this.before, 'deleted');
  }

  /** Retains a package that lies in a folder of a person. Its files must be stored already. */
  async retain(content: PackageContent, why: 'deleted' | 'replaced'): Promise<void> {
    const { retained, database } = this.#options;
    if (!retained.isKept) return;
    await addPackage(this.query, database.dialect, content);
    const { digest } = content.entry;
    const listing = renderListing(this.#id, content.files.values()).digest;
    this.unlisted = listing;
    await retained.add(this.query, this.#id, { digest, listing }, { why, now: this.#now });
    this.given.push(digest);
  }

  async #give({ digest }: ShelfEntry, why: 'deleted' | 'replaced'): Promise<void> {
    this.given.push(digest);
    // It has no objects but by `retain`.
    if (this.folder !== undefined) return;
    this.unlisted = this.#listing;
    const gone = { digest, listing: this.#listing };
    await this.#options.retained.add(this.query, this.#id, gone, { why, now: this.#now });
  }

  async #write(columns: readonly (string | number | null)[]): Promise<void> {
    const { schema } = this.#options.database.dialect;
    const { naan, name } = this.#id;
    const { rows } = await this.query<KoRow>(
      `INSERT INTO ${schema}ko (id, name, digest, listing, metadata, at_id, etag, removed, revision)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, listing = excluded.listing, metadata = excluded.metadata,
          at_id = excluded.at_id, etag = excluded.etag, folder = NULL, stamp = NULL, removed = excluded.removed,
          revision = excluded.revision
        RETURNING ${KO_COLUMNS}`,
      [koKey(this.#id), `${naan}/${name}`, ...columns, this.state.revision + 1],
    );
    this.written = rows[0];
  }
}
