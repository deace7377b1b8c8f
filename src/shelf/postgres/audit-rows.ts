/** The audit in the database of a fleet: the records of all its nodes. */
import { fits } from '../audit-store.ts';
import type { AuditPage, AuditQuery, AuditRecord, AuditStore, KeptAuditRecord } from '../audit-store.ts';
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

export async function appendAudit(query: Query, schema: string, record: AuditRecord): Promise<void> {
  await query(`INSERT INTO ${schema}.audit (who, record) VALUES ($1, $2)`, [record.who, JSON.stringify(record)]);
}

export class AuditRows implements AuditStore {
  readonly #database: Database;
  readonly #most: number;
  readonly #pending = new Set<Promise<void>>();

  /** `most`: bytes of all records together. */
  constructor(database: Database, most: number) {
    this.#database = database;
    this.#most = most;
  }

  async append(record: AuditRecord): Promise<void> {
    // Done twice, where the connection breaks at its end: better than not at all.
    const kept = appendAudit(this.#database.query, this.#database.schema, record);
    this.#pending.add(kept);
    await kept.finally(() => this.#pending.delete(kept));
  }

  async read(query: AuditQuery): Promise<AuditPage> {
    await Promise.allSettled(this.#pending);
    const records: KeptAuditRecord[] = [];
    for (let after = query.after ?? Number.MAX_SAFE_INTEGER; records.length <= query.limit;) {
      const rows = await changing(() => this.#page(query, after));
      for (const { id, time, record } of rows) {
        const kept = { id, time: new Date(time).toISOString(), ...(JSON.parse(record) as AuditRecord) };
        if (fits(kept, query)) records.push(kept);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      after = last.id;
    }
    return { records: records.slice(0, query.limit), more: records.length > query.limit };
  }

  /** The oldest records go when all together are larger than they may be. */
  async trim(): Promise<void> {
    const { schema } = this.#database;
    await this.#database.query(
      `DELETE FROM ${schema}.audit WHERE id <= (SELECT max(id) FROM
         (SELECT id, sum(octet_length(record)) OVER (ORDER BY id DESC) AS bytes FROM ${schema}.audit) AS summed
         WHERE bytes > $1)`,
      [this.#most],
    );
  }

  [Symbol.dispose](): void {
    // The shelf closes the database.
  }

  async #page({ since, ko, who }: AuditQuery, after: number): Promise<readonly AuditRow[]> {
    const { schema } = this.#database;
    const { rows } = await this.#database.query<AuditRow>(
      `SELECT id, (extract(epoch FROM time) * 1000)::float8 AS time, record FROM ${schema}.audit
       WHERE id < $1 AND ($2::float8 IS NULL OR time >= to_timestamp($2::float8 / 1000)) AND ($3::text IS NULL OR who = $3)
         AND ($4::text IS NULL OR strpos(record, $4) > 0)
       ORDER BY id DESC LIMIT ${String(PAGE)}`,
      [after, since ?? null, who ?? null, ko ?? null],
    );
    return rows;
  }
}
