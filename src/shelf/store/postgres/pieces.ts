/** The contents of packages in a PostgreSQL database, in pieces of bounded size, with a copy of them on the local disk. */
import { open } from 'node:fs/promises';
import { sha256 as digestOf, type HashedFile } from '../../package/package-content.ts';
import type { Query, Row, Value } from '../database.ts';
import { DamagedObject, type Objects, type Source, type Stored } from '../objects.ts';
import type { ObjectCache } from './object-cache.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** Bytes of a row, and of the pieces that one statement carries. */
const PIECE = 1024 * 1024;
/** Milliseconds for a statement that reads or carries pieces. */
const PIECES_MS = 60_000;
/** Bytes; files up to this size are fetched together, before they are asked for. */
const SMALL = 64 * 1024;
/** Bytes; files up to this size are on the local disk from the import on. */
const KEPT_AT_ONCE = 1024 * 1024;

interface Piece {
  readonly digest: string;
  readonly number: number;
  readonly bytes: Buffer;
}

export class Pieces implements Objects {
  readonly #database: PostgresDatabase;
  readonly #cache: ObjectCache | undefined;
  readonly #fetching = new Map<string, Promise<Buffer>>();

  /** `cache`: undefined for a command that keeps nothing here. */
  constructor(database: PostgresDatabase, cache: ObjectCache | undefined) {
    this.#database = database;
    this.#cache = cache;
  }

  /** A package of up to one piece is one statement. What was there and is damaged is written again. */
  async put(sources: readonly Source[]): Promise<Stored> {
    const byDigest = new Map(sources.flatMap((each) => (each.isListing === true ? [] : [[each.sha256, each]])));
    // In one order for all, so that two who store the same never wait for each other in a circle.
    const files = [...byDigest.values()].sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
    const isSmall = files.reduce((sum, { size }) => sum + size, 0) <= PIECE;
    const created = isSmall ? await this.#putAtOnce(files) : await this.#putInParts(files);
    for (const source of files)
      if (source.size <= KEPT_AT_ONCE) await this.#cache?.keep(source.sha256, await bytesOf(source));
    return { discard: () => this.#discard(created), release: () => undefined };
  }

  /** Rows and objects lie in one database: nothing is ever made again from objects alone. */
  async mark(): Promise<void> {
    // Nothing to note.
  }

  /** Small files that are not here come with one statement. What cannot be had now is asked for when it is read. */
  async prepare(files: readonly HashedFile[]): Promise<void> {
    const missing: string[] = [];
    for (const { sha256, size } of files)
      if (size > 0 && size <= SMALL && !(await this.#cache?.has(sha256))) missing.push(sha256);
    if (missing.length === 0) return;
    const { schema, texts } = this.#database.dialect;
    const sql = `SELECT digest, bytes FROM ${schema}object_piece
      WHERE number = 0 AND digest IN (SELECT value FROM ${texts('$1')})`;
    const found = await this.#database
      .query<{ digest: string; bytes: Buffer }>(sql, [JSON.stringify(missing)], PIECES_MS)
      .catch(() => undefined);
    for (const { digest, bytes } of found?.rows ?? [])
      if (digestOf(bytes) === digest) await this.#cache?.keep(digest, bytes);
  }

  async locate({ sha256, size }: HashedFile): Promise<string | Buffer> {
    const here = await this.#cache?.find(sha256, size);
    if (here !== undefined) return here;
    const bytes = await this.#fetch(sha256, size);
    return (await this.#cache?.find(sha256, size)) ?? bytes;
  }

  async faultOf({ sha256 }: HashedFile): Promise<string | undefined> {
    const { schema } = this.#database.dialect;
    const sql = `SELECT encode(sha256(string_agg(bytes, ''::bytea ORDER BY number)), 'hex') AS digest
      FROM ${schema}object_piece WHERE digest = $1`;
    const { rows } = await this.#database.query<{ digest: string | null }>(sql, [sha256], PIECES_MS);
    const digest = rows[0]?.digest ?? null;
    return digest === sha256 ? undefined : digest === null ? 'is missing' : 'is not what was stored';
  }

  /**
   * First it is noted that nothing refers to an object, an hour later it goes: a node may have it open, or be about to
   * name it.
   */
  async collect(): Promise<number> {
    const { schema } = this.#database.dialect;
    const ask = (sql: string) => this.#database.query(sql, [], PIECES_MS);
    const named = ['package', 'fetched']
      .map((table) => `SELECT file ->> 2 FROM ${schema}${table}, jsonb_array_elements(files::jsonb) AS file`)
      .join(' UNION ALL ');
    await ask(`UPDATE ${schema}object SET unused = NULL WHERE unused IS NOT NULL AND digest IN (${named})`);
    await ask(`UPDATE ${schema}object SET unused = ${NOW} WHERE unused IS NULL AND digest NOT IN (${named})`);
    const { count } = await ask(
      `DELETE FROM ${schema}object WHERE unused < ${NOW} - ${HOUR} AND digest NOT IN (${named})`,
    );
    return count;
  }

  /** @returns digests that were not there, with the mark of this. */
  async #putAtOnce(files: readonly Source[]): Promise<Created> {
    const pieces: Piece[] = [];
    for (const source of files) for await (const piece of piecesOf(source)) pieces.push(piece);
    const { schema } = this.#database.dialect;
    const values: Value[] = [JSON.stringify(files.map(rowOf)), noise()];
    const rows = pieces.map(({ digest, number, bytes }) => {
      values.push(digest, number, bytes);
      const at = values.length;
      return `($${String(at - 2)}::text, $${String(at - 1)}::bigint, $${String(at)}::bytea)`;
    });
    const found = await this.#database.query<CreatedRow>(
      `WITH touched AS (${touch(schema)}), stored AS (
          INSERT INTO ${schema}object_piece (digest, number, bytes)
          SELECT piece.digest, piece.number, piece.bytes FROM (VALUES ${rows.join(', ')}) AS piece (digest, number, bytes)
            JOIN touched USING (digest) WHERE touched."isNew")
        SELECT digest, unused, "isNew" FROM touched`,
      values,
    );
    const created = createdIn(found.rows);
    await this.#heal(files, created);
    return created;
  }

  async #putInParts(files: readonly Source[]): Promise<Created> {
    const created = await this.#database.transaction(async ({ query }) => {
      const { schema } = this.#database.dialect;
      const { rows } = await query<CreatedRow>(touch(schema), [JSON.stringify(files.map(rowOf)), noise()]);
      const created = createdIn(rows);
      for (const source of files) if (created.digests.includes(source.sha256)) await this.#store(query, source);
      return created;
    });
    await this.#heal(files, created);
    return created;
  }

  async #heal(files: readonly Source[], { digests }: Created): Promise<void> {
    const old = files.filter(({ sha256 }) => !digests.includes(sha256));
    if (old.length === 0) return;
    const { schema, texts } = this.#database.dialect;
    const { rows } = await this.#database.query<{ digest: string }>(
      `SELECT digest FROM ${schema}object AS o WHERE digest IN (SELECT value FROM ${texts('$1')})
        AND digest IS DISTINCT FROM (SELECT encode(sha256(string_agg(bytes, ''::bytea ORDER BY number)), 'hex')
          FROM ${schema}object_piece AS p WHERE p.digest = o.digest)`,
      [JSON.stringify(old.map(({ sha256 }) => sha256))],
      PIECES_MS,
    );
    for (const { digest } of rows)
      await this.#database.transaction(async ({ query }) => {
        await query(`SELECT 1 FROM ${schema}object WHERE digest = $1 FOR UPDATE`, [digest]);
        await query(`DELETE FROM ${schema}object_piece WHERE digest = $1`, [digest]);
        for (const source of old) if (source.sha256 === digest) await this.#store(query, source);
      });
  }

  async #store(query: Query, source: Source): Promise<void> {
    const { schema } = this.#database.dialect;
    const sql = `INSERT INTO ${schema}object_piece (digest, number, bytes) VALUES ($1, $2, $3)`;
    for await (const { digest, number, bytes } of piecesOf(source)) await query(sql, [digest, number, bytes]);
  }

  /** Unless somebody else has asked to store the same since. */
  async #discard({ digests, mark }: Created): Promise<void> {
    if (digests.length === 0) return;
    const { schema, texts } = this.#database.dialect;
    await this.#database
      .query(`DELETE FROM ${schema}object WHERE unused = $1 AND digest IN (SELECT value FROM ${texts('$2')})`, [
        mark,
        JSON.stringify(digests),
      ])
      .catch(() => undefined);
  }

  /** Several who ask at a time share one fetch. */
  #fetch(digest: string, size: number): Promise<Buffer> {
    const running = this.#fetching.get(digest);
    if (running !== undefined) return running;
    const fetched = this.#fetchNow(digest, size).finally(() => this.#fetching.delete(digest));
    this.#fetching.set(digest, fetched);
    return fetched;
  }

  async #fetchNow(digest: string, size: number): Promise<Buffer> {
    const { schema } = this.#database.dialect;
    const sql = `SELECT bytes FROM ${schema}object_piece WHERE digest = $1 AND number = $2`;
    const pieces: Buffer[] = [];
    for (let length = 0; length < size;) {
      const [row] = (await this.#database.query<{ bytes: Buffer } & Row>(sql, [digest, pieces.length], PIECES_MS)).rows;
      if (row === undefined || row.bytes.length === 0) throw new DamagedObject('is missing');
      pieces.push(row.bytes);
      length += row.bytes.length;
    }
    const bytes = Buffer.concat(pieces);
    if (digestOf(bytes) !== digest) throw new DamagedObject('is not what was stored');
    await this.#cache?.keep(digest, bytes);
    return bytes;
  }
}

/** Microseconds since 1970 by the clock of the server. */
const NOW = '(extract(epoch FROM statement_timestamp()) * 1000000)::bigint';
const HOUR = '3600000000';

/** Objects that a statement brought, and what it noted at them. */
interface Created {
  readonly digests: readonly string[];
  readonly mark: number;
}

interface CreatedRow extends Row {
  readonly digest: string;
  readonly unused: number;
}

/** Rows of objects, new or not, that nobody may take away for the next hour. Two statements never note the same time. */
const touch = (schema: string): string =>
  `INSERT INTO ${schema}object AS o (digest, size, unused)
    SELECT digest, size, ${NOW} + $2::bigint FROM jsonb_to_recordset($1::jsonb) AS file (digest text, size bigint)
    ON CONFLICT (digest) DO UPDATE SET unused = excluded.unused
    RETURNING digest, unused, (xmax = 0) AS "isNew"`;

const noise = (): number => Math.floor(Math.random() * 1_000_000);

const rowOf = ({ sha256, size }: Source) => ({ digest: sha256, size });

const createdIn = (rows: readonly CreatedRow[]): Created => ({
  digests: rows.filter((row) => row['isNew']).map(({ digest }) => digest),
  mark: rows[0]?.unused ?? 0,
});

async function bytesOf(source: Source): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const { bytes } of piecesOf(source)) pieces.push(bytes);
  return Buffer.concat(pieces);
}

/** An empty file has one piece. */
async function* piecesOf({ sha256: digest, from }: Source): AsyncGenerator<Piece> {
  if ('text' in from) {
    const bytes = Buffer.from(from.text);
    for (let at = 0, number = 0; number === 0 || at < bytes.length; at += PIECE, number++)
      yield { digest, number, bytes: bytes.subarray(at, at + PIECE) };
    return;
  }
  await using file = await open(from.path, 'r');
  for (let number = 0; ; number++) {
    const buffer = Buffer.alloc(PIECE);
    const { bytesRead } = await file.read(buffer, 0, PIECE, number * PIECE);
    if (bytesRead === 0 && number > 0) return;
    yield { digest, number, bytes: buffer.subarray(0, bytesRead) };
    if (bytesRead < PIECE) return;
  }
}
