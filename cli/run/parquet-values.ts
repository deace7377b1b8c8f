/** Values of Parquet as JSON has them: to the last digit where JSON can, else as text. */
import { TextDecoder } from 'node:util';
import type { ParquetReadOptions, SchemaElement, SchemaTree } from 'hyparquet';
import { isObject } from '../lib/fields.ts';
import type { ColumnKind } from './source.ts';

/** What JSON cannot hold: the failure of its record. */
export class UnreadableValue extends Error {}

/** Undefined stands for what is absent. @throws UnreadableValue. */
export type ValueReader = (value: unknown) => unknown;

const DAY_MS = 86_400_000;
const BILLION = 1_000_000_000n;
/** Parts of a second. */
const UNITS = { MILLIS: 1000n, MICROS: 1_000_000n, NANOS: BILLION };
const LAST_MOMENT_MS = 8.64e15;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The library decodes, and nothing more: it takes decimals for multiples of 0.1, and times for milliseconds. */
export const RAW_VALUES = {
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
export const rawElement = (element: SchemaElement): SchemaElement =>
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
export function kindOf({ element, children }: SchemaTree): ColumnKind {
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
export function valueReader(node: SchemaTree, depth = 0): ValueReader {
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
