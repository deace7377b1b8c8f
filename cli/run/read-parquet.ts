/** Parquet, some rows at a time: row groups may be as large as the file. */
import { open } from 'node:fs/promises';
import { TextDecoder } from 'node:util';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  type AsyncBuffer,
  type Compressors,
  type DecodedArray,
  type FileMetaData,
  parquetMetadataAsync,
  type ParquetReadOptions,
  parquetScan,
  type ParquetScan,
  parquetSchema,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { messageOf } from '../../src/lib/errors.ts';
import { isObject } from '../../src/lib/json.ts';
import { usageFailure } from '../lib/exit.ts';
import type { ColumnKind, RawRecord, Source } from './source.ts';

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

// Values of Parquet as JSON has them: to the last digit where JSON can, else as text.

/** What JSON cannot hold: the failure of its record. */
class UnreadableValue extends Error {}

/** Undefined stands for what is absent. @throws UnreadableValue. */
type ValueReader = (value: unknown) => unknown;

const DAY_MS = 86_400_000;
const BILLION = 1_000_000_000n;
/** Parts of a second. */
const UNITS = { MILLIS: 1000n, MICROS: 1_000_000n, NANOS: BILLION };
const LAST_MOMENT_MS = 8.64e15;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The library decodes, and nothing more: it takes decimals for multiples of 0.1, and times for milliseconds. */
const RAW_VALUES = {
  utf8: false,
  geoparquet: false,
  parsers: {
    timestampFromMilliseconds: (value: unknown) => value,
    timestampFromMicroseconds: (value: unknown) => value,
    timestampFromNanoseconds: (value: unknown) => value,
    dateFromDays: (value: unknown) => value,
    jsonFromBytes: textOr,
    stringFromBytes: textOr,
    geometryFromBytes: (value: unknown) => value,
    geographyFromBytes: (value: unknown) => value,
  },
} satisfies Partial<ParquetReadOptions>;

const UNWANTED: ReadonlySet<string> = new Set(['DECIMAL', 'BSON', 'INTERVAL']);

/** The same without what the library would turn into something else. */
const rawElement = (element: SchemaElement): SchemaElement =>
  UNWANTED.has(element.converted_type ?? '') || UNWANTED.has(element.logical_type?.type ?? '')
    ? withoutMeaning(element)
    : element;

function withoutMeaning(element: SchemaElement): SchemaElement {
  const raw = { ...element };
  delete raw.converted_type;
  delete raw.logical_type;
  return raw;
}

/** Gives the kind of a column from its description in the file. */
function kindOf({ element, children }: SchemaTree): ColumnKind {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (children.length > 0 || element.repetition_type === 'REPEATED') return 'json';
  if (isDecimal(element)) return scaleOf(element) > 0 ? 'number' : 'text';
  if (converted === 'UINT_64') return 'text';
  if (converted === 'JSON' || logical?.type === 'JSON') return 'json';
  if (type === 'BOOLEAN') return 'boolean';
  if (type === 'DOUBLE' || type === 'FLOAT' || logical?.type === 'FLOAT16') return 'number';
  if ((type === 'INT32' || type === 'INT64') && !isOfTime(element)) return 'integer';
  return 'string';
}

/** @param depth a whole number that is not exact as a number stays one of BigInt at the top, and is text within others. */
function valueReader(node: SchemaTree, depth = 0): ValueReader {
  const { element, children } = node;
  const [only, second] = children;
  if (element.repetition_type === 'REPEATED' && depth === 0) {
    const read = valueReader(once(node), 1);
    return (value) => (Array.isArray(value) ? value.map((each) => read(each) ?? null) : undefined);
  }
  if (only === undefined) {
    const read = leafReader(element);
    return (value) => {
      if (value === undefined || value === null) return undefined;
      const found = read(value);
      if (typeof found !== 'bigint') return found;
      return Number.isSafeInteger(Number(found)) ? Number(found) : depth === 0 ? found : String(found);
    };
  }
  const shape = element.logical_type?.type ?? element.converted_type;
  if (shape === 'VARIANT') return unreadable('a VARIANT');
  if (second === undefined && shape === 'LIST') {
    const [inner] = only.children;
    const read = valueReader(only.children.length === 1 && inner !== undefined ? inner : once(only), depth + 1);
    return (value) => (Array.isArray(value) ? value.map((each) => read(each) ?? null) : undefined);
  }
  if (second === undefined && (shape === 'MAP' || shape === 'MAP_KEY_VALUE')) {
    const [, valueNode] = only.children;
    const read = valueNode === undefined ? leafReader(element) : valueReader(valueNode, depth + 1);
    return (value) => (isObject(value) ? objectOf(Object.entries(value), () => read) : undefined);
  }
  const readers = new Map(children.map((child) => [child.element.name, valueReader(child, depth + 1)]));
  return (value) =>
    Array.isArray(value) ? value.map((each) => readFields(each, readers)) : readFields(value, readers);
}

/** An element of a list, by itself. */
const once = (node: SchemaTree): SchemaTree => ({
  ...node,
  element: { ...node.element, repetition_type: 'REQUIRED' },
});

const readFields = (value: unknown, readers: ReadonlyMap<string, ValueReader>): unknown =>
  isObject(value) ? objectOf(Object.entries(value), (name) => readers.get(name)) : undefined;

/** Fields that are absent have no name in it. */
function objectOf(entries: [string, unknown][], readerOf: (name: string) => ValueReader | undefined): unknown {
  const read = entries.map(([name, value]) => [name, readerOf(name)?.(value)] as const);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

function leafReader(element: SchemaElement): ValueReader {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (isDecimal(element)) return decimalReader(scaleOf(element));
  if (converted === 'JSON' || logical?.type === 'JSON') return readJson;
  if (converted === 'DATE' || logical?.type === 'DATE') return (value) => isoDate(Number(value) * DAY_MS);
  if (logical?.type === 'TIME') return (value) => isoTime(BigInt(value as number), UNITS[logical.unit]);
  if (converted === 'TIME_MILLIS') return (value) => isoTime(BigInt(value as number), UNITS.MILLIS);
  if (converted === 'TIME_MICROS') return (value) => isoTime(BigInt(value as bigint), UNITS.MICROS);
  if (logical?.type === 'TIMESTAMP') {
    const zone = logical.isAdjustedToUTC ? 'Z' : '';
    return (value) => isoMoment(BigInt(value as bigint), UNITS[logical.unit], zone);
  }
  if (converted === 'TIMESTAMP_MILLIS') return (value) => isoMoment(BigInt(value as bigint), UNITS.MILLIS, 'Z');
  if (converted === 'TIMESTAMP_MICROS') return (value) => isoMoment(BigInt(value as bigint), UNITS.MICROS, 'Z');
  if (type === 'INT96') return (value) => isoMoment(BigInt(value as bigint), UNITS.NANOS, 'Z');
  const strange = [converted, logical?.type].find((each) => each !== undefined && STRANGE.has(each));
  if (strange !== undefined) return unreadable(`an ${strange}`);
  if (type === 'DOUBLE' || type === 'FLOAT' || logical?.type === 'FLOAT16') return readNumber;
  if (type === 'BYTE_ARRAY' || logical?.type === 'UUID') return readText;
  if (type === 'FIXED_LEN_BYTE_ARRAY') return unreadable('bytes');
  return (value) => value;
}

const STRANGE: ReadonlySet<string> = new Set(['BSON', 'INTERVAL', 'GEOMETRY', 'GEOGRAPHY']);

const isDecimal = ({ converted_type: converted, logical_type: logical }: SchemaElement): boolean =>
  converted === 'DECIMAL' || logical?.type === 'DECIMAL';
const scaleOf = ({ scale, logical_type: logical }: SchemaElement): number =>
  logical?.type === 'DECIMAL' ? logical.scale : (scale ?? 0);
const isOfTime = ({ converted_type: converted, logical_type: logical }: SchemaElement): boolean =>
  /^(?:DATE|TIME)/.test(converted ?? logical?.type ?? '');

function unreadable(what: string): ValueReader {
  return () => {
    throw new UnreadableValue(`${what} has no form in JSON: write the column as text or numbers`);
  };
}

function textOr(value: unknown): unknown {
  try {
    return value instanceof Uint8Array ? utf8.decode(value) : value;
  } catch {
    return value;
  }
}

function readText(value: unknown): unknown {
  const text = textOr(value);
  if (typeof text !== 'string') throw new UnreadableValue('its bytes are no UTF-8 text');
  return text;
}

function readJson(value: unknown): unknown {
  try {
    return JSON.parse(String(readText(value))) as unknown;
  } catch (thrown) {
    throw thrown instanceof UnreadableValue ? thrown : new UnreadableValue(`it is not JSON: ${String(thrown)}`);
  }
}

/** NaN is what data frames write for what is absent. */
function readNumber(value: unknown): unknown {
  if (Number.isNaN(value)) return undefined;
  if (!Number.isFinite(value)) throw new UnreadableValue(`${String(value)} has no form in JSON`);
  return value;
}

function decimalReader(scale: number): ValueReader {
  return (value) => {
    const unscaled = value instanceof Uint8Array ? signed(value) : BigInt(value as number);
    if (scale <= 0) return unscaled * 10n ** BigInt(-scale);
    const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
    return Number(`${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`);
  };
}

const signed = (bytes: Uint8Array): bigint =>
  bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));

function isoDate(ms: number): string {
  if (Math.abs(ms) > LAST_MOMENT_MS) throw new UnreadableValue('the date is out of all bounds');
  return new Date(ms).toISOString().replace(/T.*/, '');
}

function isoTime(value: bigint, perSecond: bigint): string {
  const seconds = Number(value / perSecond);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':') + fractionOf(value % perSecond, perSecond);
}

/** @param zone empty where the file says that it is of no zone. */
function isoMoment(value: bigint, perSecond: bigint, zone: string): string {
  const fraction = ((value % perSecond) + perSecond) % perSecond;
  const ms = Number((value - fraction) / perSecond) * 1000;
  if (Math.abs(ms) > LAST_MOMENT_MS) throw new UnreadableValue('the time is out of all bounds');
  return new Date(ms).toISOString().slice(0, -5) + fractionOf(fraction, perSecond) + zone;
}

/** No more digits than it has. */
function fractionOf(value: bigint, perSecond: bigint): string {
  if (value === 0n) return '';
  let digits = String(value * (BILLION / perSecond)).padStart(9, '0');
  while (digits.endsWith('0')) digits = digits.slice(0, -1);
  return `.${digits}`;
}
