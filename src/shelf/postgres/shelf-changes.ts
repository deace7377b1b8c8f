/** Changes of what the fleet has on its shelf: each is one transaction, one after another over all nodes. */
import { setTimeout as wait } from 'node:timers/promises';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import type { PackageContent } from '../package/package-content.ts';
import { currentAuthor, noteKept } from '../change-author.ts';
import type { ShelfEntry } from '../shelf.ts';
import { appendAudit } from './audit-rows.ts';
import type { Row } from './connection.ts';
import type { Database, Query } from './database.ts';
import type { Follower } from './follower.ts';
import type { KeptRows } from './kept-rows.ts';
import type { NodeId } from './node-id.ts';
import { changeRecord, type ChangeAction } from '../change-record.ts';
import { mayLive } from './node-lives.ts';
import { entryOf, KO_COLUMNS, type KoRow, type SharedIndex } from './shared-index.ts';

/** Milliseconds for which a change waits for the other nodes. */
const LONGEST_WAIT_FOR_NODES = 2000;
/** Between two looks at how far they are: most are there at once. */
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 32;

export interface ChangesOptions {
  readonly database: Database;
  /** This one. */
  readonly node: NodeId;
  readonly follower: Follower;
  readonly index: SharedIndex;
  readonly kept: KeptRows;
  readonly onWarning: (message: string, cause?: unknown) => void;
}

/** One change while nobody else changes anything on the shelf. */
export interface OpenChange {
  readonly query: Query;
  /** What is there now. */
  readonly before: ShelfEntry | undefined;
  /** The package must be stored already. */
  readonly put: (content: PackageContent) => Promise<void>;
  readonly remove: () => Promise<void>;
}

interface Written {
  readonly row: KoRow;
  readonly mark: string;
  readonly others: number;
}

type WrittenRow = KoRow & Row & { readonly mark: string; readonly others: number };

export class ShelfChanges {
  readonly #options: ChangesOptions;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /** @param prepare what may be done while others change the shelf. @param work may run several times. */
  async run<T>(
    id: KoId,
    action: ChangeAction,
    work: (change: OpenChange) => Promise<T>,
    prepare: (query: Query) => Promise<void> = () => Promise.resolve(),
  ): Promise<T> {
    const { database, node } = this.#options;
    const author = currentAuthor();
    const { result, written } = await database.transaction(async ({ query }) => {
      await prepare(query);
      await query(`SELECT 1 FROM ${database.schema}.state FOR UPDATE`);
      const change = new Change(this.#options, query, id, await this.#read(query, id));
      const result = await work(change);
      const { written, before } = change;
      if (written === undefined) return { result, written };
      await this.discard(query, id, change.given);
      if (author !== undefined)
        await appendAudit(
          query,
          database.schema,
          node.value,
          changeRecord(author, action, id, before, entryOf(written.row)),
        );
      return { result, written };
    });
    if (written !== undefined) noteKept({ action, subject: koKey(id) });
    if (written !== undefined) await this.#settle(written);
    return result;
  }

  /** Gives back what is kept of a KO beyond its bounds, and packages of these digests that nothing has. @returns how many. */
  async discard(query: Query, id: KoId, given: readonly string[]): Promise<number> {
    const { kept, database } = this.#options;
    const { go } = await kept.sorted(query, id);
    const digests = go.map(({ digest }) => digest);
    if (digests.length > 0) await kept.drop(query, id, digests);
    await removeUnused(query, database.schema, [...digests, ...given]);
    return go.length;
  }

  async #read(query: Query, id: KoId): Promise<ShelfEntry | undefined> {
    const { schema } = this.#options.database;
    const sql = `SELECT ${KO_COLUMNS} FROM ${schema}.ko WHERE naan = $1 AND name = $2 AND version = $3`;
    const [row] = (await query<KoRow>(sql, [id.naan, id.name, id.version])).rows;
    return row && entryOf(row);
  }

  /** Here it is seen at once; the other nodes are waited for. */
  async #settle({ row, mark, others }: Written): Promise<void> {
    const { index, follower } = this.#options;
    if (index.revision === row.revision - 1) index.apply([row], row.revision, mark);
    else await follower.reach(row.revision, LONGEST_WAIT_FOR_NODES);
    if (others === 0) return;
    const behind = await this.#behind(row.revision);
    if (behind.length > 0)
      this.#options.onWarning(`${koKey(row)} was changed, and these nodes do not have it yet: ${behind.join(', ')}`);
  }

  /** The live nodes that have not reached a revision in time. */
  async #behind(revision: number): Promise<readonly string[]> {
    const { database, node } = this.#options;
    const sql = `SELECT coalesce(nullif(name, ''), nullif(address, ''), id::text) AS name FROM ${database.schema}.node
      WHERE id <> $1 AND revision < $2 AND ${mayLive(database.schema)} ORDER BY 1`;
    const until = performance.now() + LONGEST_WAIT_FOR_NODES;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const answer = await database.query<{ name: string }>(sql, [node.value, revision]).catch(() => undefined);
      // The change is done: what the others have of it is not worth an error.
      if (answer === undefined) return [];
      const names = answer.rows.map(({ name }) => name);
      if (names.length === 0 || performance.now() > until) return names;
      await wait(pause);
    }
  }
}

class Change implements OpenChange {
  readonly #options: ChangesOptions;
  readonly query: Query;
  readonly #id: KoId;
  readonly before: ShelfEntry | undefined;
  written: Written | undefined;
  /** Digests of packages to which this KO does not refer any more. */
  readonly given: string[] = [];

  constructor(options: ChangesOptions, query: Query, id: KoId, before: ShelfEntry | undefined) {
    this.#options = options;
    this.query = query;
    this.#id = id;
    this.before = before;
  }

  put = async ({ entry }: PackageContent): Promise<void> => {
    const { kept } = this.#options;
    await this.#write([entry.digest, entry.metadata, entry.atId ?? null, entry.etag, false]);
    await kept.drop(this.query, this.#id, [entry.digest]);
    if (this.before !== undefined && this.before.digest !== entry.digest) await this.#keep(this.before, 'replaced');
  };

  remove = async (): Promise<void> => {
    await this.#write([null, null, null, null, true]);
    if (this.before !== undefined) await this.#keep(this.before, 'deleted');
  };

  async #keep({ digest }: ShelfEntry, why: 'deleted' | 'replaced'): Promise<void> {
    await this.#options.kept.add(this.query, this.#id, digest, why);
    this.given.push(digest);
  }

  async #write(columns: readonly unknown[]): Promise<void> {
    const { database, node } = this.#options;
    const { schema, channel } = database;
    const { naan, name, version } = this.#id;
    const { rows } = await this.query<WrittenRow>(
      `WITH now AS (UPDATE ${schema}.state SET revision = revision + 1, mark = gen_random_uuid() RETURNING revision, mark)
       INSERT INTO ${schema}.ko AS ko (naan, name, version, digest, metadata, at_id, etag, removed, revision)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, now.revision FROM now
       ON CONFLICT (naan, name, version) DO UPDATE SET digest = excluded.digest, metadata = excluded.metadata,
         at_id = excluded.at_id, etag = excluded.etag, removed = excluded.removed, revision = excluded.revision
       RETURNING ${KO_COLUMNS}, (SELECT mark::text FROM now) AS mark, pg_notify($9, 'shelf') IS NULL AS told,
         (SELECT count(*) FROM ${schema}.node WHERE id <> $10 AND ${mayLive(schema)}) AS others`,
      [naan, name, version, ...columns, channel.slice(1, -1), node.value],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('a change of the shelf wrote nothing');
    this.written = { row, mark: row.mark, others: row.others };
  }
}

/** Of packages, those that nothing refers to; their files go later, when nobody can have them open any more. */
export async function removeUnused(query: Query, schema: string, digests: readonly string[]): Promise<void> {
  if (digests.length === 0) return;
  await query(
    `DELETE FROM ${schema}.package p WHERE digest = ANY($1)
       AND NOT EXISTS (SELECT FROM ${schema}.ko WHERE ko.digest = p.digest)
       AND NOT EXISTS (SELECT FROM ${schema}.kept WHERE kept.digest = p.digest)
       AND NOT EXISTS (SELECT FROM ${schema}.active WHERE active.digest = p.digest)`,
    [digests],
  );
}
