/** The audit of a fleet, for verification; its nodes may go on writing. */
import type { AuditToVerify, KnownWriter, KnownWriters, StoredRecord } from '../audit/verify-audit.ts';
import type { Row } from './connection.ts';
import type { Database } from './database.ts';

interface WriterRow extends Row {
  readonly writer: string;
  readonly number: number;
  readonly hash: string;
  readonly trimmed: number;
  readonly trimmed_hash: string;
}

interface AuditRow extends Row {
  readonly id: number;
  readonly time: number;
  readonly who: string;
  readonly record: string;
  readonly writer: string | null;
  readonly number: number | null;
}

const PAGE = 1000;

export class AuditRowsToVerify implements AuditToVerify {
  readonly #database: Database;
  readonly ahead = 0;
  readonly broken = 0;

  /** It is closed with this. */
  constructor(database: Database) {
    this.#database = database;
  }

  async known(): Promise<KnownWriters> {
    const { query, schema } = this.#database;
    const start = await query<{ id: number }>(`SELECT id FROM ${schema}.audit_start`);
    const { rows } = await query<WriterRow>(
      `SELECT writer, number, hash, trimmed, trimmed_hash FROM ${schema}.audit_writer`,
    );
    const known = rows.map(({ writer, number, hash, trimmed, trimmed_hash: hashOfTrimmed }): [string, KnownWriter] => [
      writer,
      { end: { number, hash }, trimmed: { number: trimmed, hash: hashOfTrimmed } },
    ]);
    return { writers: new Map(known), from: start.rows[0]?.id };
  }

  async *records(): AsyncGenerator<StoredRecord> {
    const { query, schema } = this.#database;
    for (let after = 0; ;) {
      const { rows } = await query<AuditRow>(
        `SELECT id, (extract(epoch FROM time) * 1000)::float8 AS time, who, record, writer, number FROM ${schema}.audit
         WHERE id > $1 ORDER BY id LIMIT ${String(PAGE)}`,
        [after],
      );
      for (const row of rows) yield { id: row.id, text: row.record, contradiction: contradictionIn(row) };
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.id;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database.close();
  }
}

/** The columns by which records are chosen say the same as the record, of those that are in a chain. */
function contradictionIn({ record, time, who, writer, number }: AuditRow): string | undefined {
  const said = fieldsIn(record);
  const columns = { who, writer, number, time: new Date(Math.round(time)).toISOString() };
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
