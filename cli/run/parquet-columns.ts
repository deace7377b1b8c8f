/** Columns of a Parquet file that is written: a type for each, and what fits it. */
import type { SchemaElement } from 'hyparquet';
import { UnfitResult } from './output.ts';
import type { ResultColumn } from './result-columns.ts';
import type { ColumnKind } from './source.ts';

export interface ParquetColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  /** Text of any length needs no smallest and largest value. */
  readonly hasStatistics: boolean;
}

/** What is neither of one type nor JSON for a reason is text, JSON where it is none. */
export function parquetColumns(
  names: readonly string[],
  kinds: readonly ColumnKind[],
  results: readonly ResultColumn[],
): ParquetColumn[] {
  const beside = names.map((name, i) => ({ name, kind: kinds[i] ?? 'string', hasStatistics: true }));
  return [...beside, ...results.map(({ name, types }) => ({ name, ...kindOf(types) }))];
}

function kindOf(types: ReadonlySet<string>): Omit<ParquetColumn, 'name'> {
  const found = [...types]
    .filter((each) => each !== 'null')
    .sort()
    .join(' ');
  if (found === 'boolean' || found === 'integer' || found === 'string') return { kind: found, hasStatistics: true };
  if (found === 'number' || found === 'integer number') return { kind: 'number', hasStatistics: true };
  return { kind: 'json', hasStatistics: false };
}

export const schemaOf = (columns: readonly ParquetColumn[]): SchemaElement[] => [
  { name: 'schema', num_children: columns.length },
  ...columns.map(({ name, kind }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...TYPES[kind] })),
];

/** JSON is text for its readers, of whom few know the type of that name. */
const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
const TYPES: Readonly<Record<ColumnKind, Omit<SchemaElement, 'name'>>> = {
  boolean: { type: 'BOOLEAN' },
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  string: TEXT,
  text: TEXT,
  json: TEXT,
};

const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Gives the value as JSON can hold it and the column takes it. @throws UnfitResult. */
export function fitted({ name, kind }: ParquetColumn, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (kind === 'text' && typeof value === 'bigint') return String(value);
  if (kind === 'json' || (kind === 'text' && typeof value !== 'string')) return JSON.stringify(value);
  if (kind === 'integer' && typeof value === 'bigint' && value >= LEAST && value <= MOST) return String(value);
  if (kind === 'integer' ? Number.isSafeInteger(value) : typeof value === (kind === 'text' ? 'string' : kind))
    return value;
  throw new UnfitResult(
    `${name} is ${JSON.stringify(value, bigintAsText).slice(0, 60)}, and its schema says ${kind}: --to ndjson writes it as it is`,
  );
}

const bigintAsText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);

/** Gives the value in the form that the Parquet library takes. */
export const stored = ({ kind }: ParquetColumn, value: unknown): unknown =>
  kind === 'integer' && value !== null ? BigInt(value as number | string) : value;
