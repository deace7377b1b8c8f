/** Says what the database of a shelf holds and what is wrong with it, without the store's code: only the schema is known. */
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { Findings } from './check-shelf.ts';
import { placeIn } from './database-place.ts';

interface FileRow {
  readonly package: string;
  readonly path: string;
  readonly bytes: Buffer | null;
  readonly object: string;
}

const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex');

/** @param isClosed nobody has it open: what a killed process asked for is waited for. */
export async function checkDatabase(dir: string, isClosed: boolean): Promise<Findings> {
  const { url, fleet } = placeIn(dir);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    if (isClosed) await othersGone(client, fleet);
    return await findingsIn(client, `"${fleet}"`);
  } finally {
    await client.end();
  }
}

/** What a killed process had asked for may still be done for a moment. */
async function othersGone(client: pg.Client, fleet: string): Promise<void> {
  for (let turns = 0; turns < 400; turns++) {
    const sql = 'SELECT 1 FROM pg_stat_activity WHERE application_name = $1';
    if ((await client.query(sql, [`kgrid ${fleet}`])).rowCount === 0) return;
    await wait(25);
  }
  throw new Error('connections of the killed process stay');
}

async function findingsIn(client: pg.Client, schema: string): Promise<Findings> {
  const findings: Findings = { problems: [], packages: new Map(), kept: new Map(), leftovers: [] };
  const { rows: files } = await client.query<FileRow>(
    `SELECT p.digest AS package, file ->> 0 AS path, file ->> 2 AS object,
       (SELECT string_agg(o.bytes, ''::bytea ORDER BY o.number) FROM ${schema}.object_piece o WHERE o.digest = file ->> 2) AS bytes
     FROM ${schema}.package p, jsonb_array_elements(p.files::jsonb) AS file`,
  );
  const packages = new Map<string, Map<string, string>>();
  for (const [digest, rows] of Map.groupBy(files, (row) => row.package)) {
    for (const { path, bytes, object } of rows)
      if (bytes === null || sha256(bytes) !== object) findings.problems.push(`${digest}: ${path} differs`);
    const lines = rows.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map(({ object, path }) => `${object}  ${path}\n`);
    if (sha256(lines.join('')) !== digest) findings.problems.push(`${digest}: the digest differs`);
    packages.set(digest, new Map(rows.map(({ path, bytes }) => [path, bytes?.toString() ?? ''])));
  }
  const of = async (table: string): Promise<{ id: string; digest: string; metadata?: string }[]> =>
    (
      await client.query<{ id: string; digest: string; metadata?: string }>(
        `SELECT * FROM ${schema}.${table} WHERE digest IS NOT NULL`,
      )
    ).rows;
  const referred = new Set<string>();
  for (const { id, digest, metadata } of await of('ko')) {
    referred.add(digest);
    const found = packages.get(digest) ?? new Map<string, string>();
    if (found.get('metadata.json') !== metadata) findings.problems.push(`${id}: the metadata differ`);
    findings.packages.set(id, found);
  }
  for (const { id, digest } of await of('retained')) {
    referred.add(digest);
    findings.kept.set(id, [...(findings.kept.get(id) ?? []), packages.get(digest) ?? new Map<string, string>()]);
  }
  findings.leftovers.push(...[...packages.keys()].filter((digest) => !referred.has(digest)));
  return findings;
}
