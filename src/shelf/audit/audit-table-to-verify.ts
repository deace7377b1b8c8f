/** The audit of a database, for verification; a service may go on writing. */
import { pagesOf, type Database, type Row } from '../store/database.ts';
import type { AuditToVerify, KnownWriters, StoredRecord } from './verify-audit.ts';

interface HeadRow extends Row {
  readonly writer: string;
  readonly number: number;
  readonly hash: string;
  readonly trimmed: number;
  readonly trimmed_hash: string;
}

interface AuditRow extends Row {
  readonly id: number;
  readonly at: number;
  readonly who: string;
  readonly record: string;
}

const PAGE = 1000;

export class AuditTableToVerify implements AuditToVerify {
  readonly #database: Database;

  /** It is closed with this. */
  constructor(database: Database) {
    this.#database = database;
  }

  async known(): Promise<KnownWriters> {
    const { query, dialect } = this.#database;
    const { rows } = await query<HeadRow>(
      `SELECT writer, number, hash, trimmed, trimmed_hash FROM ${dialect.schema}audit_head
        UNION ALL SELECT writer, number, hash, trimmed, trimmed_hash FROM ${dialect.schema}audit_earlier`,
    );
    return {
      writers: new Map(
        rows.map(({ writer, number, hash, trimmed, trimmed_hash: hashOfTrimmed }) => [
          writer,
          { end: { number, hash }, trimmed: { number: trimmed, hash: hashOfTrimmed } },
        ]),
      ),
      from: undefined,
    };
  }

  async *records(): AsyncGenerator<StoredRecord> {
    const { query, dialect } = this.#database;
    const all = `SELECT id, at, who, record FROM ${dialect.schema}audit WHERE 1 = 1`;
    for await (const rows of pagesOf<AuditRow>(query, all, 'id', PAGE))
      for (const row of rows) yield { id: row.id, text: row.record, contradiction: contradictionIn(row) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]();
  }
}

/** The columns by which records are chosen say the same as the record. */
function contradictionIn({ record, at, who }: AuditRow): string | undefined {
  const said = fieldsIn(record);
  const columns = { who, time: new Date(at).toISOString() };
  const other = Object.entries(columns).find(([name, value]) => said[name] !== undefined && said[name] !== value);
  return other && `its column ${other[0]} is not as its text says`;
}

function fieldsIn(record: string): Record<string, unknown> {
  try {
    const value = JSON.parse(record) as unknown;
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
