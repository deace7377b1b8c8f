/** Takes over the audit that version 0.1 wrote, in files of JSON lines beside a file of its chain. */
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { appendAudit, trimRecord } from '../../audit/audit-table.ts';
import { BEGIN, chainOf, type ChainEnd } from '../../audit/audit-chain.ts';
import { readChainFile } from './audit-chain-file.ts';
import { auditFileNames, recordIn } from './audit-lines.ts';
import type { Database, Query } from '../database.ts';

/** @param folder of the audit. What was taken over is put aside under another name. */
export async function takeOverAudit(database: Database, folder: string): Promise<void> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const { dialect } = database;
  await database.transaction(async ({ query }) => {
    const { rows } = await query<{ last_id: number }>(`SELECT last_id FROM ${dialect.schema}audit_head`);
    // It was taken over before, and not put aside since.
    if ((rows[0]?.last_id ?? 0) > 0) return;
    const chain = readChainFile(folder);
    const { last, bytes, chained } = await copyRecords(query, dialect.schema, folder, chain?.writer);
    const { end: noted, trimmed } = chain ?? { end: BEGIN, trimmed: BEGIN };
    // A kill may have come between a record and the note of it.
    const end = chained.number > noted.number ? chained : noted;
    await query(
      `UPDATE ${dialect.schema}audit_head SET writer = coalesce($1, writer), last_id = $2, number = $3, hash = $4,
        trimmed = $5, trimmed_hash = $6, bytes = $7`,
      [chain?.writer ?? null, last, end.number, end.hash, trimmed.number, trimmed.hash, bytes],
    );
    if (trimmed.number > 0) await appendAudit(query, database, trimRecord(trimmed, chain?.writer ?? ''));
  });
  const aside = `${folder}.before-0.2`;
  // What was put aside earlier stays too, as after version 0.1 was used again.
  await rename(folder, existsSync(aside) ? `${aside}.${new Date().toISOString().replaceAll(':', '-')}` : aside);
}

/** @returns the last id, the bytes of all, and the last place of this writer in the chain. */
async function copyRecords(
  query: Query,
  schema: string,
  folder: string,
  writer: string | undefined,
): Promise<{ last: number; bytes: number; chained: ChainEnd }> {
  let [last, bytes, chained] = [0, 0, BEGIN];
  for (const name of auditFileNames(await readdir(folder))) {
    const text = await readFile(join(folder, name), 'utf8');
    for (const line of text.split('\n')) {
      const record = recordIn(line);
      // A line that broke off is no record.
      if (record === undefined || record.id <= last) continue;
      await query(`INSERT INTO ${schema}audit (id, at, who, record) VALUES ($1, $2, $3, $4)`, [
        record.id,
        Date.parse(record.time),
        record.who,
        line,
      ]);
      const place = chainOf(line);
      if (place?.writer === writer && place?.isWhole === true) chained = { number: place.number, hash: place.hash };
      last = record.id;
      bytes += Buffer.byteLength(line);
    }
  }
  return { last, bytes, chained };
}
