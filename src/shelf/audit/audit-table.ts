/** The audit as one table and one chain of hashes, which is computed here, in the transaction of what is recorded. */
import { chained, chainOf, type ChainEnd } from './audit-chain.ts';
import {
  fits,
  type AuditFollower,
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type AuditStore,
  type KeptAuditRecord,
} from './audit-store.ts';
import { pagesOf, placesOf, type Database, type Dialect, type Query, type Row } from '../store/database.ts';

/** How far the chain is. */
export interface AuditHead extends Row {
  readonly writer: string;
  readonly last_id: number;
  readonly number: number;
  readonly hash: string;
  /** Of the database: milliseconds since 1970. */
  readonly now: number;
}

export interface AuditRow extends Row {
  readonly id: number;
  readonly at: number;
  readonly who: string;
  readonly record: string;
}

/** How far a writer is, and what went at its beginning. */
export interface ChainRow extends Row {
  readonly writer: string;
  readonly number: number;
  readonly hash: string;
  readonly trimmed: number;
  readonly trimmed_hash: string;
}

/** The action of a record that tells up to where the oldest went. */
const TRIM = 'trim audit';
/** Columns. */
export const RECORD = ['id', 'at', 'who', 'record'];
export const CHAIN = ['writer', 'number', 'hash', 'trimmed', 'trimmed_hash'];
const HEAD = [...CHAIN, 'last_id', 'bytes'];
/** Rows that are looked through at a time. */
export const PAGE = 1000;

/** @param head where it was just read. @param record is added at the end of the chain. In an exclusive transaction. */
export async function appendAudit(
  query: Query,
  { dialect }: Pick<Database, 'dialect'>,
  record: AuditRecord,
  head?: AuditHead,
): Promise<void> {
  const { schema } = dialect;
  const { writer, last_id: last, number, hash, now } = head ?? (await readHead(query, dialect));
  const id = last + 1;
  const kept = { id, time: new Date(now).toISOString(), ...record };
  const { text, end } = chained(kept, writer, { number, hash });
  await query(`INSERT INTO ${schema}audit (id, at, who, record) VALUES ($1, $2, $3, $4)`, [id, now, record.who, text]);
  await query(`UPDATE ${schema}audit_head SET last_id = $1, number = $2, hash = $3, bytes = bytes + $4`, [
    ...[id, end.number, end.hash],
    Buffer.byteLength(text),
  ]);
}

async function readHead(query: Query, { schema, now }: Dialect): Promise<AuditHead> {
  const { rows } = await query<AuditHead>(
    `SELECT writer, last_id, number, hash, ${now} AS now FROM ${schema}audit_head`,
  );
  const [head] = rows;
  if (head === undefined) throw new Error('the audit has no head');
  return head;
}

export class AuditTable implements AuditStore {
  readonly #database: Database;
  readonly #most: number;
  readonly #pending = new Set<Promise<void>>();

  /** `most`: bytes of all records together. */
  constructor(database: Database, most: number) {
    this.#database = database;
    this.#most = most;
  }

  async append(record: AuditRecord): Promise<void> {
    const kept = this.#database.transaction(
      async ({ query }) => {
        await appendAudit(query, this.#database, record);
        await this.#trim(query);
      },
      { isExclusive: true },
    );
    this.#pending.add(kept);
    await kept.finally(() => this.#pending.delete(kept));
  }

  trim(): Promise<void> {
    return this.#database.transaction(({ query }) => this.#trim(query), { isExclusive: true });
  }

  async read(query: AuditQuery): Promise<AuditPage> {
    // Who has just made a change finds it.
    await Promise.allSettled(this.#pending);
    const records: KeptAuditRecord[] = [];
    for (let after = query.after ?? Number.MAX_SAFE_INTEGER; records.length <= query.limit;) {
      const rows = await this.#page(query, after);
      for (const row of rows) {
        const record = recordOf(row);
        if (fits(record, query)) records.push(record);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      after = last.id;
    }
    return { records: records.slice(0, query.limit), more: records.length > query.limit };
  }

  async follow(): Promise<AuditFollower> {
    const { schema } = this.#database.dialect;
    const { rows } = await this.#database.query<{ last: number }>(
      `SELECT coalesce(max(id), 0) AS last FROM ${schema}audit`,
    );
    let last = rows[0]?.last ?? 0;
    return {
      next: async () => {
        const sql = `SELECT ${RECORD.join(', ')} FROM ${schema}audit WHERE id > $1 ORDER BY id LIMIT ${String(PAGE)}`;
        const { rows } = await this.#database.query<AuditRow>(sql, [last]);
        last = rows.at(-1)?.id ?? last;
        return rows.map(recordOf);
      },
    };
  }

  /** The oldest records go where all together are larger than they may be. The head says which went, and so does a record. */
  async #trim(query: Query): Promise<void> {
    const { schema } = this.#database.dialect;
    const { rows } = await query<{ bytes: number }>(`SELECT bytes FROM ${schema}audit_head`);
    let bytes = rows[0]?.bytes ?? 0;
    if (bytes <= this.#most) return;
    // A part of them at a time, so that not each record takes one away.
    const goal = this.#most - this.#most / 16;
    const sql = `SELECT ${RECORD.join(', ')} FROM ${schema}audit ORDER BY id LIMIT ${String(PAGE)}`;
    // Of each chain: those of version 0.1 come first.
    const ends = new Map<string, ChainEnd>();
    while (bytes > goal) {
      const oldest = (await query<AuditRow>(sql)).rows;
      let last: AuditRow | undefined;
      for (const row of oldest) {
        if (bytes <= goal) break;
        bytes -= Buffer.byteLength(row.record);
        const place = chainOf(row.record);
        if (place !== undefined) ends.set(place.writer, place);
        last = row;
      }
      if (last === undefined) break;
      await query(`DELETE FROM ${schema}audit WHERE id <= $1`, [last.id]);
    }
    await query(`UPDATE ${schema}audit_head SET bytes = $1`, [bytes]);
    for (const [writer, { number, hash }] of ends) {
      for (const table of ['audit_head', 'audit_earlier'])
        await query(`UPDATE ${schema}${table} SET trimmed = $1, trimmed_hash = $2 WHERE writer = $3`, [
          ...[number, hash, writer],
        ]);
      await appendAudit(query, this.#database, trimRecord({ number, hash }, writer));
    }
  }

  async #page({ newerThan, since, ko, who }: AuditQuery, after: number): Promise<readonly AuditRow[]> {
    const { rows } = await this.#database.query<AuditRow>(
      `SELECT ${RECORD.join(', ')} FROM ${this.#database.dialect.schema}audit
        WHERE id < $1 AND at >= $2 AND id > $3 AND who = coalesce($4, who) AND record LIKE '%' || $5 || '%'
        ORDER BY id DESC LIMIT ${String(PAGE)}`,
      [after, since ?? 0, newerThan ?? 0, who ?? null, ko ?? ''],
    );
    return rows;
  }
}

/** Without such a record, records that are not there were taken away by somebody else. @param writer whose they were. */
export const trimRecord = ({ number, hash }: ChainEnd, writer: string): AuditRecord => ({
  who: 'kgrid',
  login: 'service',
  action: TRIM,
  subject: `${writer} ${String(number)} ${hash}`,
  outcome: 'done',
  requestId: '',
  remoteAddress: '',
});

/** The texts that version 0.1 wrote into PostgreSQL lack the id, and the first of them the time. */
const recordOf = ({ id, at, record }: AuditRow): KeptAuditRecord => ({
  ...{ id, time: new Date(at).toISOString() },
  ...(JSON.parse(record) as AuditRecord),
});

/** `other`: the target has records of its own, which stay alone. */
export type CopiedAudit = 'copied' | 'present' | 'other' | 'none';

/** Records that are copied at a time. */
const COPIED_AT_ONCE = 500;

/** @param from that of a shelf whose activator may go on. @param to that of a shelf which this process may write. */
export async function copyAudit(from: Database, to: Database): Promise<CopiedAudit> {
  const table = (name: string): string => `${from.dialect.schema}${name}`;
  const target = (name: string): string => `${to.dialect.schema}${name}`;
  const headOf = async (query: Query, name: string): Promise<ChainRow & { readonly last_id: number }> => {
    const { rows } = await query<ChainRow & { readonly last_id: number }>(`SELECT ${HEAD.join(', ')} FROM ${name}`);
    if (rows[0] === undefined) throw new Error('the audit has no head');
    return rows[0];
  };
  return to.transaction(
    async ({ query }) => {
      const source = await headOf(from.query, table('audit_head'));
      const there = await headOf(query, target('audit_head'));
      if (source.last_id === 0) return 'none';
      if (there.last_id > 0) return there.writer === source.writer ? 'present' : 'other';
      const insert = async (name: string, columns: readonly string[], rows: readonly Row[]): Promise<void> => {
        const values = rows.map((row) => columns.map((column) => row[column] ?? null));
        const sql = `INSERT INTO ${target(name)} (${columns.join(', ')}) VALUES ${placesOf(values)}`;
        if (rows.length > 0) await query(sql, values.flat());
      };
      const records = `SELECT ${RECORD.join(', ')} FROM ${table('audit')} WHERE id <= $1`;
      for await (const rows of pagesOf<Row>(from.query, records, 'id', COPIED_AT_ONCE, [source.last_id]))
        await insert('audit', RECORD, rows);
      const earlier = await from.query(`SELECT ${CHAIN.join(', ')} FROM ${table('audit_earlier')}`);
      await insert('audit_earlier', CHAIN, earlier.rows);
      await query(
        `UPDATE ${target('audit_head')} SET ${HEAD.map((name, at) => `${name} = $${String(at + 1)}`).join(', ')}`,
        HEAD.map((name) => source[name] ?? null),
      );
      return 'copied';
    },
    { isExclusive: true },
  );
}
