/** Writes packages into the database: their files once, whatever has them. */
import { open } from 'node:fs/promises';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import type { HashedFile, PackageContent } from '../package/package-content.ts';
import type { Query } from './database.ts';

/** Bytes of a row. */
const CHUNK = 1024 * 1024;
/** Milliseconds for a statement that carries chunks. */
const CHUNKS_MS = 60_000;

/** The path of a file on the disk, or its bytes. */
export type SourceOf = (file: HashedFile) => string | Buffer;

/**
 * The package and what is new of its files; nothing refers to it yet.
 * @param heals whether files that were there and are damaged are written again.
 */
export async function storePackage(
  query: Query,
  schema: string,
  content: PackageContent,
  sourceOf: SourceOf,
  heals = false,
): Promise<void> {
  const files = [...content.files.values()];
  const byDigest = new Map(files.map((file) => [file.sha256, file]));
  // In one order for all, so that two who store the same never wait for each other in a circle.
  const blobs = [...byDigest.values()].sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  const { rows } = await query<{ digest: string }>(
    `INSERT INTO ${schema}.blob (digest, size)
     SELECT decode(digest, 'hex'), size FROM unnest($1::text[], $2::bigint[]) AS new (digest, size)
     ON CONFLICT (digest) DO NOTHING RETURNING encode(digest, 'hex') AS digest`,
    [blobs.map(({ sha256 }) => sha256), blobs.map(({ size }) => size)],
  );
  const isNew = new Set(rows.map(({ digest }) => digest));
  const old = blobs.filter(({ sha256 }) => !isNew.has(sha256)).map(({ sha256 }) => sha256);
  for (const digest of heals && old.length > 0 ? await clearDamaged(query, schema, old) : []) isNew.add(digest);
  await storeChunks(
    query,
    schema,
    blobs.filter(({ sha256 }) => isNew.has(sha256)),
    sourceOf,
  );
  await query(
    `WITH new AS (INSERT INTO ${schema}.package (digest, artifacts, size) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING digest)
     INSERT INTO ${schema}.package_file (package, path, blob, size)
     SELECT new.digest, file.path, decode(file.blob, 'hex'), file.size
     FROM new, unnest($4::text[], $5::text[], $6::bigint[]) AS file (path, blob, size)`,
    [
      ...[content.entry.digest, content.artifactsDigest, files.reduce((sum, { size }) => sum + size, 0)],
      ...[files.map(({ path }) => path), files.map(({ sha256 }) => sha256), files.map(({ size }) => size)],
    ],
  );
}

/** Takes away the bytes of files that are not what was stored. @returns their digests. */
async function clearDamaged(query: Query, schema: string, digests: readonly string[]): Promise<readonly string[]> {
  const { rows } = await query<{ digest: string }>(
    `SELECT encode(b.digest, 'hex') AS digest FROM ${schema}.blob b
     WHERE b.digest IN (SELECT decode(d, 'hex') FROM unnest($1::text[]) AS d) AND b.digest IS DISTINCT FROM
       (SELECT sha256(string_agg(c.bytes, ''::bytea ORDER BY c.number)) FROM ${schema}.blob_chunk c WHERE c.digest = b.digest)
     ORDER BY b.digest FOR UPDATE OF b`,
    [digests],
    CHUNKS_MS,
  );
  const damaged = rows.map(({ digest }) => digest);
  if (damaged.length > 0)
    await query(`DELETE FROM ${schema}.blob_chunk WHERE encode(digest, 'hex') = ANY($1)`, [damaged]);
  return damaged;
}

interface Chunk {
  readonly digest: string;
  readonly number: number;
  readonly bytes: Buffer;
}

async function storeChunks(
  query: Query,
  schema: string,
  files: readonly HashedFile[],
  sourceOf: SourceOf,
): Promise<void> {
  let batch: Chunk[] = [];
  let size = 0;
  const send = async (): Promise<void> => {
    if (batch.length === 0) return;
    const sql = `INSERT INTO ${schema}.blob_chunk (digest, number, bytes)
      SELECT decode(digest, 'hex'), number, bytes FROM unnest($1::text[], $2::int[], $3::bytea[]) AS new (digest, number, bytes)`;
    const values = [
      batch.map(({ digest }) => digest),
      batch.map(({ number }) => number),
      batch.map(({ bytes }) => bytes),
    ];
    await query(sql, values, CHUNKS_MS);
    batch = [];
    size = 0;
  };
  for (const file of files) {
    for await (const chunk of chunksOf(file.sha256, sourceOf(file))) {
      if (size + chunk.bytes.length > CHUNK) await send();
      batch.push(chunk);
      size += chunk.bytes.length;
    }
  }
  await send();
}

async function* chunksOf(digest: string, source: string | Buffer): AsyncGenerator<Chunk> {
  if (Buffer.isBuffer(source)) {
    for (let at = 0, number = 0; number === 0 || at < source.length; at += CHUNK, number++)
      yield { digest, number, bytes: source.subarray(at, at + CHUNK) };
    return;
  }
  await using file = await open(source, 'r');
  for (let number = 0; ; number++) {
    const buffer = Buffer.alloc(CHUNK);
    const { bytesRead } = await file.read(buffer, 0, CHUNK, number * CHUNK);
    if (bytesRead === 0 && number > 0) return;
    yield { digest, number, bytes: buffer.subarray(0, bytesRead) };
    if (bytesRead < CHUNK) return;
  }
}

/** The text of `metadata.json` of a package that is stored. */
export async function metadataOf(query: Query, schema: string, files: readonly HashedFile[]): Promise<string> {
  const file = files.find(({ path }) => path === METADATA_FILE);
  const sql = `SELECT bytes FROM ${schema}.blob_chunk WHERE digest = decode($1, 'hex') ORDER BY number`;
  const { rows } = await query<{ bytes: Buffer }>(sql, [file?.sha256]);
  return Buffer.concat(rows.map(({ bytes }) => bytes)).toString('utf8');
}

/** The path of the first file whose bytes in the database are not what was stored. */
export async function damagedFile(query: Query, schema: string, digest: string): Promise<string | undefined> {
  const sql = `SELECT f.path FROM ${schema}.package_file f WHERE f.package = $1 AND f.blob IS DISTINCT FROM
    (SELECT sha256(string_agg(c.bytes, ''::bytea ORDER BY c.number)) FROM ${schema}.blob_chunk c WHERE c.digest = f.blob)
    ORDER BY f.path LIMIT 1`;
  const { rows } = await query<{ path: string }>(sql, [digest], CHUNKS_MS);
  return rows[0]?.path;
}

/** All files of a package, read from the database. */
export async function storedFiles(query: Query, schema: string, digest: string): Promise<readonly HashedFile[]> {
  const sql = `SELECT path, size, encode(blob, 'hex') AS sha256 FROM ${schema}.package_file WHERE package = $1 ORDER BY path`;
  const { rows } = await query<{ path: string; size: number; sha256: string }>(sql, [digest]);
  return rows.map(({ path, size, sha256 }) => ({ path, size, sha256 }));
}
