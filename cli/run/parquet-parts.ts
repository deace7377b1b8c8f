/** Parquet files of one row group each, and the one that they become. */
import { parquetMetadata } from 'hyparquet';
import type { RowGroup } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ByteTarget } from './output.ts';
import { schemaOf, stored } from './parquet-columns.ts';
import type { ParquetColumn } from './parquet-columns.ts';

const CREATED_BY = 'kgrid';
/** `PAR1`, with which a file begins and ends; before its end stands the length of what describes it. */
const MAGIC_BYTES = 4;
const LENGTH_BYTES = 4;

/** A whole file of these rows. */
export function partOf(columns: readonly ParquetColumn[], rows: readonly (readonly unknown[])[]): Uint8Array {
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
export class PartJoiner {
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
