/** Takes over the audit that version 0.1 wrote, in files of JSON lines beside a file of its chain. */
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { BEGIN, chainOf, type ChainEnd } from '../../audit/audit-chain.ts';
import type { KeptAuditRecord } from '../../audit/audit-store.ts';
import { appendAudit, trimRecord } from '../../audit/audit-table.ts';
import { isMissing } from '../../disk-errors.ts';
import { fieldsOf, jsonOr } from '../../../lib/json.ts';
import type { Database, Query } from '../database.ts';

/** What it knew of the chain beside its records. */
interface ChainFile {
  readonly writer: string;
  readonly end: ChainEnd;
  /** The last one that went because there were too many. */
  readonly trimmed: ChainEnd;
}

/** @param folder of the audit. What was taken over is put aside under another name. */
export async function takeOverAudit(database: Database, folder: string): Promise<void> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const { schema } = database.dialect;
  await database.transaction(async ({ query }) => {
    const { rows } = await query<{ last_id: number }>(`SELECT last_id FROM ${schema}audit_head`);
    // It was taken over before, and not put aside since.
    if ((rows[0]?.last_id ?? 0) > 0) return;
    const { writer, end: noted, trimmed } = await readChainFile(folder);
    const { last, bytes, chained } = await copyRecords(query, schema, folder, writer);
    // A kill may have come between a record and the note of it.
    const end = chained.number > noted.number ? chained : noted;
    await query(
      `UPDATE ${schema}audit_head SET writer = coalesce($1, writer), last_id = $2, number = $3, hash = $4,
        trimmed = $5, trimmed_hash = $6, bytes = $7`,
      [writer ?? null, last, end.number, end.hash, trimmed.number, trimmed.hash, bytes],
    );
    if (trimmed.number > 0) await appendAudit(query, database, trimRecord(trimmed, writer ?? ''));
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
  const names = (await readdir(folder)).filter((name) => /^\d{15}\.jsonl$/.test(name));
  for (const name of names.sort())
    for (const line of (await readFile(join(folder, name), 'utf8')).split('\n')) {
      const record = recordIn(line);
      if (record === undefined || record.id <= last) continue;
      await query(`INSERT INTO ${schema}audit (id, at, who, record) VALUES ($1, $2, $3, $4)`, [
        ...[record.id, Date.parse(record.time), record.who, line],
      ]);
      const place = chainOf(line);
      if (place?.writer === writer && place?.isWhole === true) chained = { number: place.number, hash: place.hash };
      last = record.id;
      bytes += Buffer.byteLength(line);
    }
  return { last, bytes, chained };
}

/** A line that broke off, as when the power fails, is no record, nor is what somebody wrote by hand. */
function recordIn(line: string): KeptAuditRecord | undefined {
  const record: Partial<KeptAuditRecord> = fieldsOf(jsonOr(line));
  const { id, time, who, subject } = record;
  const isOne = Number.isSafeInteger(id) && [time, who, subject].every((field) => typeof field === 'string');
  return isOne ? (record as KeptAuditRecord) : undefined;
}

/** Of the beginning, where there is none or what is there cannot be one. */
async function readChainFile(folder: string): Promise<Partial<ChainFile> & Omit<ChainFile, 'writer'>> {
  const text = await readFile(join(folder, 'chain.json'), 'utf8').catch((thrown: unknown) => {
    if (isMissing(thrown)) return '';
    throw thrown;
  });
  const { from, writer, end, trimmed }: Partial<ChainFile & { from: number }> = fieldsOf(jsonOr(text));
  if (Number.isSafeInteger(from) && typeof writer === 'string' && isEnd(end) && isEnd(trimmed))
    return { writer, end, trimmed };
  return { end: BEGIN, trimmed: BEGIN };
}

function isEnd(value: Partial<ChainEnd> | undefined): value is ChainEnd {
  return Number.isSafeInteger(value?.number) && typeof value?.hash === 'string';
}
