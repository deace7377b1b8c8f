/** Parquet, some rows at a time: row groups may be as large as the file. */
import { open } from 'node:fs/promises';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parquetMetadataAsync, parquetScan, parquetSchema } from 'hyparquet';
import type { AsyncBuffer, Compressors, DecodedArray, FileMetaData, ParquetScan, SchemaTree } from 'hyparquet';
import { messageOf } from '../../src/lib/errors.ts';
import { usageFailure } from '../lib/exit.ts';
import { kindOf, RAW_VALUES, rawElement, UnreadableValue, valueReader } from './parquet-values.ts';
import type { RawRecord, Source } from './source.ts';

const ROWS_AT_ONCE = 256;
/** Rows read at once; a larger row group is read again for each slice. */
const SLICE_ROWS = 64 * 1024;
const MAGIC = 'PAR1';
const ENCRYPTED = 'PARE';

/** Beside Snappy, which the library has. */
const COMPRESSORS: Compressors = {
  GZIP: (input, length) => gunzipSync(input, { maxOutputLength: Math.max(length, 1) }),
  BROTLI: (input, length) => brotliDecompressSync(input, { maxOutputLength: Math.max(length, 1) }),
  ZSTD: (input, length) => zstdDecompressSync(input, { maxOutputLength: Math.max(length, 1) }),
};
const READABLE: ReadonlySet<string> = new Set(['UNCOMPRESSED', 'SNAPPY', ...Object.keys(COMPRESSORS)]);

/** @throws CommandFailure where it is no whole Parquet file. */
export async function readParquet(path: string, size: number): Promise<Source> {
  await checkMagic(path, size);
  const file = bufferOf(path, size);
  const { scan, tree } = await openScan(path, file);
  checkGroups(path, size, scan.metadata);
  const nodes = tree.children;
  const columns = nodes.map(({ element }) => element.name);
  checkNames(path, columns);
  let position = 0;
  return {
    columns,
    kinds: nodes.map(kindOf),
    size: Number(scan.metadata.num_rows),
    get position() {
      return position;
    },
    notes: [],
    async *records(skip, used = columns.keys().toArray()) {
      const readers = used.map((i) => readerOf(nodes[i]));
      for (const [start, end] of slices(scan.metadata, skip)) {
        const read: DecodedArray[] = [];
        for (const i of used) read.push(await readColumn(path, scan, columns[i] ?? '', start, end));
        for (let from = start; from < end; from += ROWS_AT_ONCE) {
          const to = Math.min(from + ROWS_AT_ONCE, end);
          position = to;
          yield Array.from({ length: to - from }, (_, i): RawRecord => {
            const row = from + i;
            const cells: unknown[] = [];
            for (const [at, column] of used.entries()) {
              const found = readers[at]?.(read[at]?.[row - start]);
              if (found instanceof UnreadableValue)
                return { line: row + 1, value: new Error(`The column ${columns[column]}: ${found.message}`) };
              cells[column] = found;
            }
            return { line: row + 1, value: cells };
          });
        }
      }
    },
  };
}

/** Gives in place of throwing what is unreadable. */
function readerOf(node: SchemaTree | undefined): (value: unknown) => unknown {
  if (node === undefined) return () => undefined;
  const read = valueReader(node);
  return (value) => {
    try {
      return read(value);
    } catch (thrown) {
      if (thrown instanceof UnreadableValue) return thrown;
      throw thrown;
    }
  };
}

/** Rows from and to, none of them across two row groups. */
function* slices({ row_groups: groups }: FileMetaData, skip: number): Generator<readonly [number, number]> {
  let begin = 0;
  for (const { num_rows: rows } of groups) {
    const end = begin + Number(rows);
    for (let at = Math.max(begin, skip); at < end; at += SLICE_ROWS) yield [at, Math.min(at + SLICE_ROWS, end)];
    begin = end;
  }
}

async function readColumn(
  path: string,
  scan: ParquetScan,
  column: string,
  rowStart: number,
  rowEnd: number,
): Promise<DecodedArray> {
  const place = `${path}: rows ${rowStart + 1} to ${rowEnd} of the column ${column} cannot be read`;
  try {
    const read = await scan.readColumn({ column, rowStart, rowEnd });
    if (read.length === rowEnd - rowStart) return read;
  } catch (thrown) {
    throw usageFailure(`${place}, the file is damaged there: ${messageOf(thrown)}`);
  }
  throw usageFailure(`${place}, the file holds fewer rows than it says`);
}

async function openScan(path: string, file: AsyncBuffer): Promise<{ scan: ParquetScan; tree: SchemaTree }> {
  try {
    const metadata = await parquetMetadataAsync(file, RAW_VALUES);
    // The schema of the file, taken before the types that the library would convert are removed.
    const tree = parquetSchema(metadata);
    const raw = { ...metadata, schema: metadata.schema.map(rawElement) };
    return { scan: await parquetScan({ ...RAW_VALUES, file, metadata: raw, compressors: COMPRESSORS }), tree };
  } catch (thrown) {
    throw usageFailure(`${path} is damaged: its end does not describe what it holds (${messageOf(thrown)})`);
  }
}

async function checkMagic(path: string, size: number): Promise<void> {
  if (size === 0) throw usageFailure(`${path} is empty`);
  const file = bufferOf(path, size);
  const begin = Buffer.from(await file.slice(0, Math.min(4, size))).toString('latin1');
  const end = Buffer.from(await file.slice(Math.max(size - 4, 0), size)).toString('latin1');
  if (begin === ENCRYPTED || end === ENCRYPTED)
    throw usageFailure(`${path} is encrypted: write it without encryption, which kgrid cannot read`);
  if (begin !== MAGIC)
    throw usageFailure(`${path} is no Parquet file: say what it is, such as --from csv or --from ndjson`);
  if (end !== MAGIC || size < 12)
    throw usageFailure(`${path} is not whole: a Parquet file ends with what it holds, and its end is missing`);
}

function checkGroups(path: string, size: number, { row_groups: groups, num_rows: rows }: FileMetaData): void {
  if (groups.reduce((sum, each) => sum + each.num_rows, 0n) !== rows)
    throw usageFailure(`${path} is damaged: it says that it has ${rows} rows, and its row groups have others`);
  for (const { meta_data: data, file_path: elsewhere } of groups.flatMap(({ columns }) => columns)) {
    if (data === undefined || (elsewhere ?? '') !== '')
      throw usageFailure(`${path} keeps its values in other files: name these, or write it as one file`);
    const begin = data.dictionary_page_offset || data.data_page_offset;
    if (begin < 4n || begin + data.total_compressed_size > BigInt(size))
      throw usageFailure(`${path} is damaged: the column ${data.path_in_schema.join('.')} lies outside of it`);
    if (!READABLE.has(data.codec))
      throw usageFailure(
        `${path} is compressed by ${data.codec}, which kgrid cannot read: write it with Snappy, Zstandard, gzip or Brotli`,
      );
  }
}

function checkNames(path: string, columns: readonly string[]): void {
  for (const [i, name] of columns.entries()) {
    const before = columns.indexOf(name);
    if (before < i)
      throw usageFailure(
        `${path}: the column ${name} stands there twice, as columns ${before + 1} and ${i + 1}: rename one`,
      );
  }
}

/** Opens it for each part, so that nothing is left open. */
const bufferOf = (path: string, size: number): AsyncBuffer => ({
  byteLength: size,
  async slice(start, end = size) {
    await using file = await open(path);
    const bytes = new Uint8Array(end - start);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, start + at);
      if (bytesRead === 0) throw usageFailure(`${path} has become shorter while it is read`);
      at += bytesRead;
    }
    return bytes.buffer;
  },
});
