/** The audit in the database of a fleet: the records of all its nodes. */
import { fits } from '../audit/audit-store.ts';
import type {
  AuditFollower,
  AuditPage,
  AuditQuery,
  AuditRecord,
  AuditStore,
  KeptAuditRecord,
} from '../audit/audit-store.ts';
import { changing } from './shelf-errors.ts';
import type { Row } from './connection.ts';
import type { Database, Query } from './database.ts';

interface AuditRow extends Row {
  readonly id: number;
  readonly time: number;
  /** JSON. */
  readonly record: string;
}

/** Rows that are looked through at a time. */
const PAGE = 1000;
/** For which a writer is known of which no record is kept any more. */
const LONGEST_KEPT_WRITER = '30 days';

/** @param writer whose chain it goes on. */
export async function appendAudit(query: Query, schema: string, writer: string, record: AuditRecord): Promise<void> {
  await query(`SELECT ${schema}.append_audit($1, $2, $3)`, [writer, record.who, JSON.stringify(record)]);
}

export class AuditRows implements AuditStore {
  readonly #database: Database;
  readonly #writer: string;
  readonly #most: number;
  readonly #pending = new Set<Promise<void>>();

  /** `writer`: this node. `most`: bytes of all records together. */
  constructor(database: Database, writer: string, most: number) {
    this.#database = database;
    this.#writer = writer;
    this.#most = most;
  }

  async append(record: AuditRecord): Promise<void> {
    // Done twice, where the connection breaks at its end: better than not at all.
    const kept = appendAudit(this.#database.query, this.#database.schema, this.#writer, record);
    this.#pending.add(kept);
    await kept.finally(() => this.#pending.delete(kept));
  }

  async read(query: AuditQuery): Promise<AuditPage> {
    await Promise.allSettled(this.#pending);
    const records: KeptAuditRecord[] = [];
    for (let after = query.after ?? Number.MAX_SAFE_INTEGER; records.length <= query.limit;) {
      const rows = await changing(() => this.#page(query, after));
      for (const { id, time, record } of rows) {
        const kept = recordOf({ id, time, record });
        if (fits(kept, query)) records.push(kept);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      after = last.id;
    }
    return { records: records.slice(0, query.limit), more: records.length > query.limit };
  }

  follow(): Promise<AuditFollower> {
    return RowFollower.begin(this.#database);
  }

  /** The oldest records go when all together are larger than they may be. */
  async trim(): Promise<void> {
    const { schema } = this.#database;
    // What goes is noted in the same statement, so that it is never taken for removed by somebody.
    await this.#database.query(
      `WITH gone AS (
         DELETE FROM ${schema}.audit WHERE id <= (SELECT max(id) FROM
           (SELECT id, sum(octet_length(record)) OVER (ORDER BY id DESC) AS bytes FROM ${schema}.audit) AS summed
           WHERE bytes > $1)
         RETURNING writer, number, record),
       last AS (SELECT DISTINCT ON (writer) writer, number, substring(record FROM '"hash":"([0-9a-f]{64})"}$') AS hash
         FROM gone WHERE writer IS NOT NULL ORDER BY writer, number DESC)
       UPDATE ${schema}.audit_writer w SET trimmed = last.number, trimmed_hash = coalesce(last.hash, '')
         FROM last WHERE w.writer = last.writer AND w.trimmed < last.number`,
      [this.#most],
    );
    await this.#database.query(
      `DELETE FROM ${schema}.audit_writer WHERE trimmed = number AND at < now() - interval '${LONGEST_KEPT_WRITER}'`,
    );
  }

  [Symbol.dispose](): void {
    // The shelf closes the database.
  }

  async #page({ newerThan, since, ko, who }: AuditQuery, after: number): Promise<readonly AuditRow[]> {
    const { schema } = this.#database;
    const { rows } = await this.#database.query<AuditRow>(
      `SELECT id, (extract(epoch FROM time) * 1000)::float8 AS time, record FROM ${schema}.audit
       WHERE id < $1 AND ($2::float8 IS NULL OR time >= to_timestamp($2::float8 / 1000)) AND ($3::text IS NULL OR who = $3)
         AND ($4::text IS NULL OR strpos(record, $4) > 0) AND ($5::bigint IS NULL OR id > $5)
       ORDER BY id DESC LIMIT ${String(PAGE)}`,
      [after, since ?? null, who ?? null, ko ?? null, newerThan ?? null],
    );
    return rows;
  }
}

const recordOf = ({ id, time, record }: Pick<AuditRow, 'id' | 'time' | 'record'>): KeptAuditRecord => ({
  id,
  time: new Date(time).toISOString(),
  ...(JSON.parse(record) as AuditRecord),
});

/** Ids that are looked at again: a transaction that takes one may end after one that takes a later one. */
const OVERLAP = 200;

class RowFollower implements AuditFollower {
  readonly #database: Database;
  readonly #seen = new Set<number>();
  #last = 0;

  private constructor(database: Database) {
    this.#database = database;
  }

  static async begin(database: Database): Promise<RowFollower> {
    const follower = new RowFollower(database);
    follower.#note((await follower.#select(`ORDER BY id DESC LIMIT ${String(OVERLAP)}`)).rows);
    return follower;
  }

  async next(): Promise<readonly KeptAuditRecord[]> {
    const { rows } = await this.#select(
      `WHERE id > $1 AND id <> ALL ($2::bigint[]) ORDER BY id LIMIT ${String(PAGE)}`,
      [this.#last - OVERLAP, [...this.#seen]],
    );
    this.#note(rows);
    return rows.map(recordOf);
  }

  #select(which: string, values: unknown[] = []): Promise<{ readonly rows: readonly AuditRow[] }> {
    const { query, schema } = this.#database;
    const columns = 'id, (extract(epoch FROM time) * 1000)::float8 AS time, record';
    return query<AuditRow>(`SELECT ${columns} FROM ${schema}.audit ${which}`, values);
  }

  #note(rows: readonly AuditRow[]): void {
    for (const { id } of rows) {
      this.#last = Math.max(this.#last, id);
      this.#seen.add(id);
    }
    for (const id of this.#seen) if (id <= this.#last - OVERLAP) this.#seen.delete(id);
  }
}
