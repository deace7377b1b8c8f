/** CSV as RFC 4180 has it: quotes may go across lines, the first record names the columns. */
import { Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { CsvError, type InfoRecord, parse, type Parser } from 'csv-parse';
import { RecordLines } from '../../src/execution/batch/record-lines.ts';
import { HeldBytes } from '../../src/execution/held-bytes.ts';
import { usageFailure } from '../lib/exit.ts';
import { count } from '../lib/terminal.ts';
import type { Bytes, RawRecord, Source } from './source.ts';

interface Parsed {
  readonly record: readonly string[];
  readonly info: InfoRecord;
}

const RECORDS_AT_ONCE = 256;
/** Records that came before what cannot be read are still given. */
const STREAM = { autoDestroy: false, readableHighWaterMark: 2 * RECORDS_AT_ONCE };
const OTHER_DELIMITERS: readonly (readonly [string, string])[] = [
  [';', `';'`],
  ['\t', `'\\t'`],
  ['|', `'|'`],
  [',', `','`],
];

/** @throws CommandFailure where its first record cannot be the names of columns. */
export async function readCsv(bytes: Bytes, delimiter: string): Promise<Source> {
  const reading = new CsvReading(bytes, delimiter);
  const header = await reading.next();
  if (header === undefined) throw usageFailure(`${bytes.name} is empty: its first line has to name the columns`);
  const columns = header.cells.map((name) => name.trim());
  checkHeader(columns, header.line, bytes.name, delimiter);
  const unnamed = columns.flatMap((name, i) => (name === '' ? [i + 1] : []));
  return {
    columns,
    size: bytes.size,
    get position() {
      return reading.position;
    },
    notes: unnamed.length === 0 ? [] : [`Column ${unnamed.join(', ')} of ${bytes.name} has no name, and is left out`],
    async *records(skip) {
      let toSkip = skip;
      let some: RawRecord[] = [];
      try {
        for (let row = await reading.next(); row !== undefined; row = await reading.next()) {
          if (toSkip > 0) toSkip--;
          else some.push({ line: row.line, value: wholeRow(row.cells, columns.length) });
          if (some.length < RECORDS_AT_ONCE) continue;
          yield some;
          some = [];
        }
      } catch (thrown) {
        // What came before a place that cannot be read is whole.
        if (some.length > 0) yield some;
        throw thrown;
      }
      if (some.length > 0) yield some;
    },
  };
}

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
}

class CsvReading {
  position = 0;
  readonly #name: string;
  readonly #parser: Parser;
  readonly #rows: AsyncIterator<Parsed>;
  /** Where the next record begins. The parser's own count takes CR LF within quotes for two lines. */
  #line = 1;
  #emptyLines = 0;

  constructor({ name, stream }: Bytes, delimiter: string) {
    this.#name = name;
    this.#parser = parse({
      ...STREAM,
      bom: true,
      delimiter,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MOST_RECORD_BYTES,
    });
    const source = Readable.from(this.#utf8(stream()), { objectMode: false });
    source.once('error', (error) => this.#parser.destroy(error));
    source.pipe(this.#parser);
    this.#rows = (this.#parser as AsyncIterable<Parsed>)[Symbol.asyncIterator]();
  }

  async next(): Promise<Row | undefined> {
    try {
      const next = await this.#rows.next();
      return next.done === true ? undefined : this.#rowOf(next.value);
    } catch (thrown) {
      throw thrown instanceof CsvError ? this.#failure(thrown) : thrown;
    }
  }

  #rowOf({ record, info }: Parsed): Row {
    this.#line += info.empty_lines - this.#emptyLines;
    this.#emptyLines = info.empty_lines;
    const line = this.#line++;
    for (const cell of record) if (cell.includes('\n')) this.#line += cell.split('\n').length - 1;
    return { line, cells: record };
  }

  #failure(error: CsvError): Error {
    const code: string = error.code;
    const place = `${this.#name}:${this.#line}`;
    if (code === 'CSV_QUOTE_NOT_CLOSED')
      return usageFailure(`${place}: a quote that opens in this record is never closed: close it, or double it ("")`);
    if (code === 'CSV_MAX_RECORD_SIZE')
      return usageFailure(
        `${place}: this record is larger than ${MOST_RECORD_BYTES / 1024 / 1024} MB: is a quote open, or the file no CSV?`,
      );
    if (/QUOTE/.test(code))
      return usageFailure(
        `${place}: a quote stands in the middle of a value: put the whole value in quotes and double those in it ("")`,
      );
    return usageFailure(`${place}: ${error.message}`);
  }

  /** Bytes that are UTF-8, as they are. */
  async *#utf8(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let lines = 0;
    const check = (chunk: Buffer | undefined): void => {
      try {
        if (chunk === undefined) decoder.decode();
        else decoder.decode(chunk, { stream: true });
      } catch {
        const line = lines + 1 + linesBefore(chunk ?? Buffer.alloc(0));
        throw usageFailure(
          `${this.#name} is no UTF-8 text, at line ${line} or shortly after: convert it, such as with iconv -f WINDOWS-1252 -t UTF-8`,
        );
      }
    };
    for await (const chunk of stream) {
      check(chunk);
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
      this.position += chunk.length;
      yield chunk;
    }
    check(undefined);
  }
}

/** Lines that end before the first byte that is no UTF-8. */
function linesBefore(chunk: Buffer): number {
  let [good, bad] = [0, chunk.length];
  while (good < bad) {
    const middle = (good + bad + 1) >> 1;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(chunk.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle - 1;
    }
  }
  return chunk.subarray(0, good).toString('latin1').split('\n').length - 1;
}

const wholeRow = (cells: readonly string[], columns: number): readonly string[] | Error =>
  cells.length === columns
    ? cells
    : new Error(`The record has ${count(cells.length, 'value')}, and the header names ${count(columns, 'column')}`);

function checkHeader(columns: readonly string[], line: number, name: string, delimiter: string): void {
  const seen = new Map<string, number>();
  for (const [i, column] of columns.entries()) {
    const before = seen.get(column);
    if (before !== undefined && column !== '')
      throw usageFailure(
        `${name}:${line}: the column ${column} stands there twice, as columns ${before} and ${i + 1}: rename one`,
      );
    seen.set(column, i + 1);
  }
  const [only = ''] = columns;
  const other = OTHER_DELIMITERS.find(([each]) => each !== delimiter && only.includes(each));
  if (columns.length === 1 && other !== undefined)
    throw usageFailure(
      `${name}:${line}: the header is one column, "${only.slice(0, 60)}": if its columns end with ${other[1]}, say --delimiter ${other[1]}`,
    );
}

/** Most bytes of a record; the service has a lower limit of its own and reports it for the record. */
const MOST_RECORD_BYTES = 64 * 1024 * 1024;

/** One JSON text a line. */
export function readNdjson({ size, stream }: Bytes): Source {
  let position = 0;
  return {
    columns: undefined,
    size,
    get position() {
      return position;
    },
    notes: [],
    async *records(skip) {
      using lines = new RecordLines(MOST_RECORD_BYTES, new HeldBytes(Infinity));
      let toSkip = skip;
      const rest = (found: readonly RawRecord[]): readonly RawRecord[] => {
        const skipped = Math.min(toSkip, found.length);
        toSkip -= skipped;
        return skipped === 0 ? found : found.slice(skipped);
      };
      const rawOf = ({ line, record }: { line: number; record: string | Error }): RawRecord => ({
        line,
        value: typeof record === 'string' && record.endsWith('\r') ? record.slice(0, -1) : record,
      });
      for await (const chunk of stream()) {
        position += chunk.length;
        const found = rest(Array.from(lines.push(chunk), rawOf));
        if (found.length > 0) yield found;
      }
      yield rest(Array.from(lines.end(), rawOf));
    },
  };
}
