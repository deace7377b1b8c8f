/**
 * Takes over the tables that version 0.1 made in PostgreSQL. They are put aside under other names, and stay: all of it is
 * one transaction, so that until its end, and where that is interrupted, they are as they were.
 */
import { startRefused } from '../../../lib/errors.ts';
import { parseKoId } from '../../../knowledge-object/id.ts';
import { appendAudit, trimRecord } from '../../audit/audit-table.ts';
import type { HashedFile } from '../../package/package-content.ts';
import { pagesOf, type Database, type Dialect, type Query, type Row } from '../database.ts';
import { renderFiles, renderListing } from '../package-listing.ts';

/** In front of the names of what is put aside. */
export const ASIDE = 'before_0_2_';
const OLD_TABLES = [
  ...['schema_version', 'state', 'change', 'blob', 'blob_chunk', 'package', 'package_file', 'ko', 'kept', 'active'],
  ...['activation', 'node', 'runtime', 'runtime_endpoint', 'lease', 'audit', 'audit_writer', 'audit_start'],
  'engine_refresh',
];
const OLD_STEPS = 4;
/** Packages that are copied at a time. */
const PAGE = 200;

/** @throws startRefused for tables that are not whole. */
export async function isOfVersion01(query: Query, { schema, tables }: Dialect, where: string): Promise<boolean> {
  const names = new Set((await query<{ name: string }>(tables)).rows.map(({ name }) => name));
  if (!names.has('schema_version')) return false;
  const { rows } = await query(`SELECT * FROM ${schema}schema_version`);
  if (rows.length === 0 ? names.size > 1 : rows.some(({ program }) => program !== 'kgrid-activator')) return false;
  const missing = OLD_TABLES.filter((name) => !names.has(name));
  if (rows.length === OLD_STEPS && missing.length === 0) return true;
  throw startRefused(
    `--shelf: the database of ${where} is of version 0.1 and not whole (${missing.length > 0 ? `missing: ${missing.join(', ')}` : `${String(rows.length)} of ${String(OLD_STEPS)} steps are done`}): start version 0.1 on it once, or restore a backup`,
  );
}

/** @throws startRefused where activators of version 0.1 still run, or something was put aside before. */
export async function putTablesAside(query: Query, dialect: Dialect, where: string): Promise<void> {
  const { schema, tables } = dialect;
  const { rows } = await query<{ name: string }>(tables);
  if (rows.some(({ name }) => name.startsWith(ASIDE)))
    throw startRefused(
      `--shelf: the database of ${where} was taken over from version 0.1 before, and what was put aside is there still, in tables whose names begin with ${ASIDE}: drop them first`,
    );
  await requireNoNode(query, `${schema}node`, where);
  for (const table of OLD_TABLES) {
    const indexes = await query<{ name: string }>(
      `SELECT i.relname::text AS name FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
        WHERE x.indrelid = to_regclass($1)`,
      [`${schema}${table}`],
    );
    await query(`ALTER TABLE ${schema}${table} RENAME TO ${ASIDE}${table}`);
    for (const { name } of indexes.rows) await query(`ALTER INDEX ${schema}${name} RENAME TO ${ASIDE}${name}`);
  }
  // From here on none can give a sign of life.
  await requireNoNode(query, `${schema}${ASIDE}node`, where);
}

async function requireNoNode(query: Query, table: string, where: string): Promise<void> {
  const { rows } = await query<{ name: string }>(
    `SELECT coalesce(nullif(name, ''), nullif(address, ''), id::text) AS name FROM ${table}
      WHERE heartbeat > clock_timestamp() - interval '5 seconds' ORDER BY 1`,
  );
  if (rows.length > 0)
    throw startRefused(
      `--shelf: activators of version 0.1 run on the database of ${where}: stop ${rows.map(({ name }) => name).join(', ')}, and start this one again, which takes over what they have`,
    );
}

/** From the tables that were put aside into the new ones. */
export async function copyTables(query: Query, database: Database): Promise<void> {
  const { dialect } = database;
  const { schema } = dialect;
  const old = `${schema}${ASIDE}`;
  await query(
    `INSERT INTO ${schema}object (digest, size, unused) SELECT encode(digest, 'hex'), size, ${at('unused')} FROM ${old}blob`,
  );
  await query(
    `INSERT INTO ${schema}object_piece (digest, number, bytes) SELECT encode(digest, 'hex'), number, bytes FROM ${old}blob_chunk`,
  );
  await copyPackages(query, schema, old);
  await query(
    `INSERT INTO ${schema}active (id, name, digest, generation, at)
      SELECT ${ID}, naan || '/' || name, digest, generation, ${at('at')} FROM ${old}active`,
  );
  await query(
    `INSERT INTO ${schema}activation (generation, kind, selection) SELECT generation, kind, selection::text FROM ${old}activation`,
  );
  await query(`INSERT INTO ${schema}engine_refresh (engine, at) SELECT engine, ${at('at')} FROM ${old}engine_refresh`);
  await query(
    `UPDATE ${schema}state SET revision = o.revision, generation = o.generation, changes_from = o.revision,
        started = o.started::int, call_key = encode(o.call_key, 'base64'), marks = $1
      FROM ${old}state o`,
    [JSON.stringify([crypto.randomUUID().slice(0, 8)])],
  );
  await copyAudit(query, database, old);
}

interface PackageRow extends Row {
  readonly digest: string;
  /** JSON. */
  readonly files: string;
  readonly size: number;
  readonly stored: number;
}

/** The packages, and what refers to them: of each KO the listing of its package is an object from now on. */
async function copyPackages(query: Query, schema: string, old: string): Promise<void> {
  const sql = `SELECT digest, size, ${at('created')} AS stored,
      (SELECT json_agg(json_build_object('path', path, 'size', f.size, 'sha256', encode(blob, 'hex')))
        FROM ${old}package_file f WHERE f.package = p.digest)::text AS files
    FROM ${old}package p WHERE 1 = 1`;
  for await (const rows of pagesOf<PackageRow>(query, sql, 'digest', PAGE)) {
    const packages = rows.map((row) => ({ ...row, files: sorted(JSON.parse(row.files) as HashedFile[]) }));
    await query(
      `INSERT INTO ${schema}package (digest, files, size, stored)
        SELECT * FROM jsonb_to_recordset($1) AS new (digest text, files text, size bigint, stored bigint)`,
      [JSON.stringify(packages.map((each) => ({ ...each, files: renderFiles(each.files) })))],
    );
    await copyKos(query, schema, old, new Map(packages.map(({ digest, files }) => [digest, files])));
  }
}

async function copyKos(
  query: Query,
  schema: string,
  old: string,
  packages: ReadonlyMap<string, readonly HashedFile[]>,
): Promise<void> {
  const { rows } = await query<{ id: string; digest: string }>(
    `SELECT ${ID} AS id, digest FROM ${old}ko WHERE digest IN (SELECT jsonb_array_elements_text($1))
      UNION SELECT ${ID}, digest FROM ${old}kept WHERE digest IN (SELECT jsonb_array_elements_text($1))`,
    [JSON.stringify([...packages.keys()])],
  );
  const listings = rows.map(({ id: key, digest }) => {
    const id = parseKoId(key);
    const files = packages.get(digest);
    if (id === undefined || files === undefined) throw new Error(`${key} has an id that is none, or no package`);
    const { text, digest: listing } = renderListing(id, files);
    return { id: key, digest, listing, text, size: Buffer.byteLength(text) };
  });
  const LISTINGS = `jsonb_to_recordset($1) AS new (id text, digest text, listing text, text text, size bigint)`;
  const values = [JSON.stringify(listings)];
  await query(
    `INSERT INTO ${schema}object (digest, size) SELECT DISTINCT listing, size FROM ${LISTINGS}
      ON CONFLICT (digest) DO UPDATE SET unused = NULL`,
    values,
  );
  await query(
    `INSERT INTO ${schema}object_piece (digest, number, bytes)
      SELECT DISTINCT listing, 0, convert_to(text, 'UTF8') FROM ${LISTINGS} ON CONFLICT DO NOTHING`,
    values,
  );
  await query(
    `INSERT INTO ${schema}ko (id, name, digest, listing, metadata, at_id, etag, revision, removed)
      SELECT new.id, naan || '/' || name, digest, listing, metadata, at_id, etag, revision, 0
      FROM ${old}ko JOIN ${LISTINGS} USING (digest) WHERE new.id = ${ID} AND NOT removed`,
    values,
  );
  await query(
    `INSERT INTO ${schema}retained (id, digest, listing, at, why)
      SELECT new.id, digest, listing, ${at('removed')}, why
      FROM ${old}kept JOIN ${LISTINGS} USING (digest) WHERE new.id = ${ID}`,
    values,
  );
}

/** Each node wrote a chain of its own: they end here, and one for all begins. */
async function copyAudit(query: Query, database: Database, old: string): Promise<void> {
  const { schema } = database.dialect;
  await query(
    `INSERT INTO ${schema}audit (id, at, who, record) SELECT id, ${at('time')}, who, record FROM ${old}audit`,
  );
  await query(
    `UPDATE ${schema}audit_head SET last_id = o.last, bytes = o.bytes
      FROM (SELECT coalesce(max(id), 0) AS last, coalesce(sum(octet_length(record)), 0) AS bytes FROM ${schema}audit) o`,
  );
  await query(
    `INSERT INTO ${schema}audit_earlier (writer, number, hash, trimmed, trimmed_hash)
      SELECT writer, number, hash, trimmed, trimmed_hash FROM ${old}audit_writer WHERE number > 0`,
  );
  const { rows } = await query<{ writer: string; number: number; hash: string }>(
    `SELECT writer, trimmed AS number, trimmed_hash AS hash FROM ${schema}audit_earlier WHERE trimmed > 0 ORDER BY writer`,
  );
  for (const { writer, number, hash } of rows) await appendAudit(query, database, trimRecord({ number, hash }, writer));
}

const ID = "naan || '/' || name || '/' || version";

/** Milliseconds since 1970 of a column. */
const at = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::bigint`;

const sorted = (files: readonly HashedFile[]): readonly HashedFile[] =>
  files.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
