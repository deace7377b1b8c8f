/** Takes the audit of one shelf in a folder along to another, whole, with its chain. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database, Row } from './database.ts';
import { databaseIn } from './open-stored-shelf.ts';
import { shelfLayout } from './shelf-layout.ts';
import { takeSnapshot } from './snapshot.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

interface HeadRow extends Row {
  readonly writer: string;
  readonly last_id: number;
}

/** `other`: the target has records of its own, which stay alone. */
export type CopiedAudit = 'copied' | 'present' | 'other' | 'none';

/** @param from the folder of a shelf, whose activator may go on. @param to that of a shelf which this process owns. */
export async function copyAudit(from: string, to: Database): Promise<CopiedAudit> {
  const file = databaseIn(shelfLayout(from));
  if (!existsSync(file) || !(to instanceof SqliteDatabase)) return 'none';
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-audit-'));
  try {
    const taken = join(folder, 'shelf.db');
    await takeSnapshot(file, taken);
    const [source, target] = [await headIn(taken), await headOf(to)];
    if (source === undefined || source.last_id === 0) return 'none';
    if (target !== undefined && target.last_id > 0) return target.writer === source.writer ? 'present' : 'other';
    await to.copyFrom(taken, ['audit', 'audit_head']);
    return 'copied';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function headIn(file: string): Promise<HeadRow | undefined> {
  await using database = await SqliteDatabase.open(file);
  const { rows } = await database.query(`SELECT 1 AS found FROM sqlite_schema WHERE name = 'audit_head'`);
  return rows.length === 0 ? undefined : await headOf(database);
}

async function headOf({ query }: Database): Promise<HeadRow | undefined> {
  const { rows } = await query<HeadRow>('SELECT writer, last_id FROM audit_head');
  return rows[0];
}
