/**
 * Results as Parquet: row groups of which each is a part. Rows of one that is not whole yet lie beside the parts as text,
 * so that a run goes on after any record.
 */
import type { Kept, Output } from './output.ts';
import { fitted } from './parquet-columns.ts';
import type { ParquetColumn } from './parquet-columns.ts';
import { partOf } from './parquet-parts.ts';
import type { ResultColumns } from './result-columns.ts';

/** "Fixed row groups": where one ends depends on nothing but the records. */
const GROUP_ROWS = 50_000;
const GROUP_CHARACTERS = 16 * 1024 * 1024;
const DRAIN_CHARACTERS = 256 * 1024;

/** Where parts are kept until they become one file, or where they go at once. */
export interface PartStore {
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
