/** Takes the audit of one shelf along to another, whole, with its chain. */
import type { Database, Query, Row, Value } from '../store/database.ts';

interface HeadRow extends Row {
  readonly writer: string;
  readonly last_id: number;
  readonly number: number;
  readonly hash: string;
  readonly trimmed: number;
  readonly trimmed_hash: string;
  readonly bytes: number;
}

interface RecordRow extends Row {
  readonly id: number;
  readonly at: number;
  readonly who: string;
  readonly record: string;
}

/** `other`: the target has records of its own, which stay alone. */
export type CopiedAudit = 'copied' | 'present' | 'other' | 'none';

/** Records that are copied at a time. */
const PAGE = 500;

/** @param from that of a shelf whose activator may go on. @param to that of a shelf which this process may write. */
export async function copyAudit(from: Database, to: Database): Promise<CopiedAudit> {
  return to.transaction(
    async ({ query }) => {
      const [source, target] = [await headOf(from.query, from), await headOf(query, to)];
      if (source.last_id === 0) return 'none';
      if (target.last_id > 0) return target.writer === source.writer ? 'present' : 'other';
      const page = `SELECT id, at, who, record FROM ${from.dialect.schema}audit WHERE id > $1 AND id <= $2 ORDER BY id LIMIT ${String(PAGE)}`;
      for (let after = 0; ;) {
        const { rows } = await from.query<RecordRow>(page, [after, source.last_id]);
        const last = rows.at(-1);
        if (last === undefined) break;
        await insert(query, to, rows);
        after = last.id;
      }
      await copyEarlier(query, from, to);
      const { writer, last_id: lastId, number, hash, trimmed, trimmed_hash: trimmedHash, bytes } = source;
      await query(
        `UPDATE ${to.dialect.schema}audit_head SET writer = $1, last_id = $2, number = $3, hash = $4, trimmed = $5, trimmed_hash = $6, bytes = $7`,
        [writer, lastId, number, hash, trimmed, trimmedHash, bytes],
      );
      return 'copied';
    },
    { isExclusive: true },
  );
}

interface EarlierRow extends Row {
  readonly writer: string;
  readonly number: number;
  readonly hash: string;
  readonly trimmed: number;
  readonly trimmed_hash: string;
}

async function copyEarlier(query: Query, from: Database, to: Database): Promise<void> {
  const columns = 'writer, number, hash, trimmed, trimmed_hash';
  const { rows } = await from.query<EarlierRow>(`SELECT ${columns} FROM ${from.dialect.schema}audit_earlier`);
  for (const { writer, number, hash, trimmed, trimmed_hash: trimmedHash } of rows)
    await query(`INSERT INTO ${to.dialect.schema}audit_earlier (${columns}) VALUES ($1, $2, $3, $4, $5)`, [
      ...[writer, number, hash, trimmed, trimmedHash],
    ]);
}

async function headOf(query: Query, { dialect: { schema } }: Database): Promise<HeadRow> {
  const { rows } = await query<HeadRow>(
    `SELECT writer, last_id, number, hash, trimmed, trimmed_hash, bytes FROM ${schema}audit_head`,
  );
  const [head] = rows;
  if (head === undefined) throw new Error('the audit has no head');
  return head;
}

async function insert(query: Query, { dialect: { schema } }: Database, rows: readonly RecordRow[]): Promise<void> {
  const values: Value[] = [];
  const places = rows.map(({ id, at, who, record }) => {
    const from = values.push(id, at, who, record) - 4;
    return `($${String(from + 1)}, $${String(from + 2)}, $${String(from + 3)}, $${String(from + 4)})`;
  });
  await query(`INSERT INTO ${schema}audit (id, at, who, record) VALUES ${places.join(', ')}`, values);
}
