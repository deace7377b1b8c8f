/** Takes the audit of one shelf along to another, whole, with its chain. */
import { pagesOf, placesOf, type Database, type Query, type Row } from '../store/database.ts';

/** `other`: the target has records of its own, which stay alone. */
export type CopiedAudit = 'copied' | 'present' | 'other' | 'none';

/** Records that are copied at a time. */
const PAGE = 500;
const RECORD = ['id', 'at', 'who', 'record'];
const CHAIN = ['writer', 'number', 'hash', 'trimmed', 'trimmed_hash'];
const HEAD = [...CHAIN, 'last_id', 'bytes'];

interface HeadRow extends Row {
  readonly writer: string;
  readonly last_id: number;
}

/** @param from that of a shelf whose activator may go on. @param to that of a shelf which this process may write. */
export async function copyAudit(from: Database, to: Database): Promise<CopiedAudit> {
  const table = (name: string): string => `${from.dialect.schema}${name}`;
  const target = (name: string): string => `${to.dialect.schema}${name}`;
  const headOf = async (query: Query, name: string): Promise<HeadRow> => {
    const { rows } = await query<HeadRow>(`SELECT ${HEAD.join(', ')} FROM ${name}`);
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
      for await (const rows of pagesOf<Row>(from.query, records, 'id', PAGE, [source.last_id]))
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
