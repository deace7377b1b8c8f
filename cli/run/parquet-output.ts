/**
 * Results as Parquet: row groups of which each is a part. Rows of one that is not whole yet lie beside the parts as text,
 * so that a run goes on after any record.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetMetadata, type RowGroup, type SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { messageOf } from '../../src/lib/errors.ts';
import { usageFailure } from '../lib/exit.ts';
import { type ByteTarget, type Kept, openFileTarget, type Output, UnfitResult } from './output.ts';
import type { RunFiles, RunState } from './run-files.ts';
import type { ResultColumn, ResultColumns } from './schema-fields.ts';
import type { ColumnKind } from './source.ts';

/** "Fixed row groups": where one ends depends on nothing but the records. */
const GROUP_ROWS = 50_000;
const GROUP_CHARACTERS = 16 * 1024 * 1024;
const DRAIN_CHARACTERS = 256 * 1024;

/** Where parts are kept until they become one file, or where they go at once. */
interface PartStore {
  /** Rows of the part that was begun, as text; of each part in order. */
  spill(text: string): Promise<void>;
  /** Takes a part that is whole, in place of its text. */
  write(part: Uint8Array): Promise<void>;
  keep(): Promise<Kept>;
  settled(): Promise<void>;
  /** Makes the file. */
  finish(columns: readonly ParquetColumn[]): Promise<void>;
  close(): Promise<void>;
}

type Row = readonly unknown[];

export class ParquetOutput implements Output {
  readonly #columns: readonly ParquetColumn[];
  readonly #results: ResultColumns;
  readonly #store: PartStore;
  readonly #groupRows: number;
  /** Groups that are whole, and not written. */
  readonly #whole: Row[][] = [];
  #rows: Row[] = [];
  #characters = 0;
  #text = '';

  /** `begun`: the text of the part where it goes on. */
  constructor(
    columns: readonly ParquetColumn[],
    results: ResultColumns,
    store: PartStore,
    begun: string,
    groupRows = GROUP_ROWS,
  ) {
    this.#columns = columns;
    this.#results = results;
    this.#store = store;
    this.#groupRows = groupRows;
    for (const line of begun.split('\n')) if (line !== '') this.#push(JSON.parse(line) as Row, line.length);
  }

  get lost(): ReadonlySet<string> {
    return this.#results.lost;
  }

  add(answer: string, beside: readonly unknown[]): void {
    const values = [...beside, ...this.#results.valuesOf(answer)];
    const row = this.#columns.map((column, i) => fitted(column, values[i]));
    const line = JSON.stringify(row);
    this.#text += `${line}\n`;
    this.#push(row, line.length);
  }

  async drain(): Promise<void> {
    // What cannot be written stays: nothing that was not written may count as kept.
    for (let [rows] = this.#whole; rows !== undefined; [rows] = this.#whole) {
      await this.#store.write(partOf(this.#columns, rows));
      this.#whole.shift();
    }
    if (this.#text.length >= DRAIN_CHARACTERS) await this.#spill();
  }

  async keep(): Promise<Kept> {
    await this.drain();
    await this.#spill();
    return this.#store.keep();
  }

  settled(): Promise<void> {
    return this.#store.settled();
  }

  async finish(): Promise<void> {
    if (this.#rows.length > 0) await this.#store.write(partOf(this.#columns, this.#rows));
    await this.#store.finish(this.#columns);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #push(row: Row, characters: number): void {
    this.#rows.push(row);
    this.#characters += characters;
    if (this.#rows.length < this.#groupRows && this.#characters < GROUP_CHARACTERS) return;
    this.#whole.push(this.#rows);
    this.#rows = [];
    this.#characters = 0;
    this.#text = '';
  }

  async #spill(): Promise<void> {
    if (this.#text !== '') await this.#store.spill(this.#text);
    this.#text = '';
  }
}

/** Parts of a Parquet file that is written: in the folder of the run, or straight to a pipe. */
export class PartFolder implements PartStore {
  readonly #folder: string;
  readonly #results: string;
  #parts: number;
  #begun: ByteTarget | undefined;
  /** Bytes of what is begun. */
  #at = 0;
  /** Text of parts that are whole, of which the journal may not know yet. */
  readonly #needless: string[] = [];

  constructor({ folder, results }: RunFiles, parts: number) {
    this.#folder = folder;
    this.#results = results;
    this.#parts = parts;
  }

  /** Goes on, and gives the text of the part that was begun. @throws CommandFailure where that is not there. */
  async goOn({ output }: Pick<RunState, 'output'>): Promise<string> {
    if (output === 0) return '';
    this.#begun = await openFileTarget(this.#textPath, output);
    this.#at = output;
    return readFile(this.#textPath, 'utf8');
  }

  async spill(text: string): Promise<void> {
    this.#begun ??= await openFileTarget(this.#textPath, 0);
    await this.#begun.write(text);
  }

  async write(part: Uint8Array): Promise<void> {
    const target = await openFileTarget(this.#partPath(this.#parts), 0);
    try {
      await target.write(part);
      await target.keep();
    } finally {
      await target.close();
    }
    if (this.#begun !== undefined) this.#needless.push(this.#textPath);
    await this.close();
    this.#at = 0;
    this.#parts++;
  }

  async keep(): Promise<Kept> {
    if (this.#begun !== undefined) this.#at = (await this.#begun.keep()).output;
    return { parts: this.#parts, output: this.#at };
  }

  async settled(): Promise<void> {
    for (const path of this.#needless.splice(0)) await rm(path, { force: true });
  }

  async finish(columns: readonly ParquetColumn[]): Promise<void> {
    const target = await openFileTarget(this.#results, 0);
    try {
      const joiner = new PartJoiner(target, columns);
      for (let i = 0; i < this.#parts; i++) await joiner.add(await this.#read(i));
      await joiner.finish();
      await target.keep();
    } finally {
      await target.close();
    }
  }

  async close(): Promise<void> {
    await this.#begun?.close();
    this.#begun = undefined;
  }

  async #read(part: number): Promise<Uint8Array> {
    const path = this.#partPath(part);
    try {
      return await readFile(path);
    } catch (thrown) {
      throw usageFailure(`${path} cannot be read: ${messageOf(thrown)}: say --force to begin again`);
    }
  }

  get #textPath(): string {
    return join(this.#folder, `part-${this.#parts}.begun`);
  }

  #partPath(part: number): string {
    return join(this.#folder, `part-${part}.parquet`);
  }
}

/** Each part as soon as it is whole. */
export class PartPipe implements PartStore {
  readonly #target: ByteTarget;
  readonly #joiner: PartJoiner;

  constructor(target: ByteTarget, columns: readonly ParquetColumn[]) {
    this.#target = target;
    this.#joiner = new PartJoiner(target, columns);
  }

  spill(): Promise<void> {
    return Promise.resolve();
  }

  write(part: Uint8Array): Promise<void> {
    return this.#joiner.add(part);
  }

  keep(): Promise<Kept> {
    return this.#target.keep();
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  finish(): Promise<void> {
    return this.#joiner.finish();
  }

  close(): Promise<void> {
    return this.#target.close();
  }
}

// Parquet files of one row group each, and the one that they become.

const CREATED_BY = 'kgrid';
/** `PAR1`, with which a file begins and ends; before its end stands the length of what describes it. */
const MAGIC_BYTES = 4;
const LENGTH_BYTES = 4;

/** A whole file of these rows. */
function partOf(columns: readonly ParquetColumn[], rows: readonly (readonly unknown[])[]): Uint8Array {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({ writer: bytes, schema: schemaOf(columns), createdBy: CREATED_BY });
  void writer.write({
    columnData: columns.map((column, i) => ({
      name: column.name,
      data: rows.map((row) => stored(column, row[i])),
      statistics: column.hasStatistics,
      // It would stand behind the row group, where parts are cut.
      offsetIndex: false,
    })),
    rowGroupSize: Math.max(rows.length, 1),
  });
  void writer.finish();
  return bytes.getBytes();
}

/** Row groups of parts, one after the other, as one file. */
class PartJoiner {
  readonly #target: ByteTarget;
  readonly #end: ParquetWriter;
  readonly #endBytes = new ByteWriter();
  #at = 0;

  constructor(target: ByteTarget, columns: readonly ParquetColumn[]) {
    this.#target = target;
    this.#end = new ParquetWriter({ writer: this.#endBytes, schema: schemaOf(columns), createdBy: CREATED_BY });
  }

  async add(part: Uint8Array): Promise<void> {
    const { row_groups: groups, num_rows: rows, metadata_length: length } = parquetMetadata(part);
    const begin = this.#at === 0 ? 0 : MAGIC_BYTES;
    const shift = BigInt(this.#at - begin);
    await this.#write(part.subarray(begin, part.length - length - LENGTH_BYTES - MAGIC_BYTES));
    this.#end.row_groups.push(...groups.map((group) => shifted(group, shift)));
    this.#end.num_rows += rows;
  }

  async finish(): Promise<void> {
    void this.#end.finish();
    await this.#write(this.#endBytes.getBytes().subarray(this.#at === 0 ? 0 : MAGIC_BYTES));
  }

  async #write(bytes: Uint8Array): Promise<void> {
    await this.#target.write(bytes);
    this.#at += bytes.length;
  }
}

function shifted(group: RowGroup, shift: bigint): RowGroup {
  return {
    ...group,
    columns: group.columns.map((column) => {
      const { meta_data: data } = column;
      if (data === undefined) return column;
      const { dictionary_page_offset: dictionary } = data;
      return {
        ...column,
        file_offset: column.file_offset + shift,
        meta_data: {
          ...data,
          data_page_offset: data.data_page_offset + shift,
          ...(dictionary === undefined ? {} : { dictionary_page_offset: dictionary + shift }),
        },
      };
    }),
  };
}

/** Columns of a Parquet file that is written: a type for each, and what fits it. */
interface ParquetColumn {
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

const schemaOf = (columns: readonly ParquetColumn[]): SchemaElement[] => [
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
function fitted({ name, kind }: ParquetColumn, value: unknown): unknown {
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
const stored = ({ kind }: ParquetColumn, value: unknown): unknown =>
  kind === 'integer' && value !== null ? BigInt(value as number | string) : value;
