/** Cuts bytes into the records of NDJSON: "One record a line in, one line a record out". */
import { isUtf8 } from 'node:buffer';
import type { RecordBlock } from '../../engines/records.ts';
import { bodyNotReadable, bodyTooLarge, type ServiceError } from '../../lib/errors.ts';
import { GrowingBytes } from '../../lib/growing-bytes.ts';
import { mediaTypeOf } from '../../lib/media-type.ts';
import { type HeldBytes, noRoom } from '../held-bytes.ts';

// The media types of NDJSON, of which each line is a call of its own.

const RECORD_TYPES: ReadonlySet<string> = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/fhir+ndjson',
]);

/** The type, without parameters and in lower case, where it is one of records. */
export function recordTypeOf(contentType: string | undefined): string | undefined {
  if (contentType === undefined || contentType === 'application/json') return undefined;
  const type = mediaTypeOf(contentType);
  return RECORD_TYPES.has(type) ? type : undefined;
}

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** A line that is not blank. */
export interface RecordLine {
  /** From 1; blank lines count. */
  readonly line: number;
  /** What stands there, or why it is no record. */
  readonly record: string | Error;
}

/** Lines that are not blank, in their order. */
export class CutRecords {
  /** A character for each byte. */
  readonly #text: string;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #lines: number[] = [];
  #faults: Map<number, Error> | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  get count(): number {
    return this.#lines.length;
  }

  add(line: number, start: number, end: number): void {
    this.#lines.push(line);
    this.#starts.push(start);
    this.#ends.push(end);
  }

  /** A line that is no record. */
  addFault(line: number, fault: Error): void {
    (this.#faults ??= new Map<number, Error>()).set(this.count, fault);
    this.add(line, 0, 0);
  }

  /** Each with its text. */
  *[Symbol.iterator](): Generator<RecordLine, void, undefined> {
    for (let i = 0; i < this.count; i++)
      yield {
        line: this.lineOf(i),
        record: this.faultOf(i) ?? textOf(this.#text.slice(this.#starts[i], this.#ends[i])),
      };
  }

  /** From 1; blank lines count. */
  lineOf(index: number): number {
    return this.#lines[index] ?? 0;
  }

  /** Why it is no record, where it is none. */
  faultOf(index: number): Error | undefined {
    return this.#faults?.get(index);
  }

  bytesOf(index: number): number {
    return (this.#ends[index] ?? 0) - (this.#starts[index] ?? 0);
  }

  /** The records of a range, without what is none. */
  block(from: number, to: number): RecordBlock {
    const lines = this.lineOf(to - 1) - this.lineOf(from) + 1;
    if (this.#faults === undefined && lines === to - from)
      return { text: this.#text.slice(this.#starts[from], this.#ends[to - 1]), count: lines };
    const records: string[] = [];
    for (let i = from; i < to; i++)
      if (this.faultOf(i) === undefined) records.push(this.#text.slice(this.#starts[i], this.#ends[i]));
    return { text: records.join('\n'), count: records.length };
  }
}

export class RecordLines implements Disposable {
  readonly #mostBytes: number;
  readonly #held: HeldBytes;
  /** The beginning of a line whose end has not come. */
  readonly #begun = new GrowingBytes();
  #line = 0;
  /** True while what is left of a line is of no use. */
  #skips = false;
  #bytesInVain = 0;
  #isFirst = true;

  /** `mostBytes`: of one record. `held` takes account of the line that has begun. */
  constructor(mostBytes: number, held: HeldBytes) {
    this.#mostBytes = mostBytes;
    this.#held = held;
  }

  /** Lines that have ended. */
  get line(): number {
    return this.#line;
  }

  /** Bytes since the last record: of blank lines, and of one that is too large and does not end. */
  get bytesInVain(): number {
    return this.#bytesInVain;
  }

  /** The line that goes on now has its error already. */
  get isRefused(): boolean {
    return this.#skips;
  }

  /** The records that end in these bytes. */
  push(chunk: Buffer): CutRecords {
    const end = chunk.lastIndexOf(LINE_FEED);
    const found = end < 0 ? new CutRecords('') : this.#cutEnded(chunk.subarray(0, end));
    this.#begin(end < 0 ? chunk : chunk.subarray(end + 1), found);
    this.#bytesInVain = found.count > 0 ? 0 : this.#bytesInVain + chunk.length;
    return found;
  }

  /** The last line, where no line feed ends it. */
  end(): CutRecords {
    return this.#skips || this.#begun.size > 0 ? this.#cutEnded(Buffer.alloc(0)) : new CutRecords('');
  }

  [Symbol.dispose](): void {
    this.#held.shrink(this.#begun.held);
    this.#begun.clear();
  }

  /** Keeps the beginning of a line; of one that becomes too large its error comes now, and its rest is skipped. */
  #begin(bytes: Buffer, found: CutRecords): void {
    if (bytes.length === 0 || this.#skips) return;
    const { held } = this.#begun;
    this.#begun.add(bytes);
    const { size } = this.#begun;
    const isTooLarge = size > this.#mostBytes + MARK.length;
    const grown = this.#begun.held - held;
    if (!isTooLarge && this.#held.grow(size, grown)) return;
    this.#begun.clear();
    this.#held.shrink(held);
    this.#skips = true;
    found.addFault(this.#line + 1, isTooLarge ? this.#tooLarge() : noRoom());
  }

  /** `bytes`: up to the end of a line, of which the beginning may have come before. */
  #cutEnded(bytes: Buffer): CutRecords {
    if (this.#skips) {
      this.#skips = this.#isFirst = false;
      this.#line++;
      const end = bytes.indexOf(LINE_FEED);
      return end < 0 ? new CutRecords('') : this.#cut(bytes.subarray(end + 1));
    }
    if (this.#begun.size === 0) return this.#cut(bytes);
    this.#held.shrink(this.#begun.held);
    this.#begun.add(bytes);
    return this.#cut(this.#begun.take());
  }

  /** Whole lines, without the last line feed. */
  #cut(bytes: Buffer): CutRecords {
    const whole = this.#withoutMark(bytes);
    const text = whole.toString('latin1');
    const found = new CutRecords(text);
    const most = this.#mostBytes + MARK.length;
    const areTexts = isUtf8(whole) && !whole.includes(0);
    for (let from = 0; from <= text.length;) {
      const at = text.indexOf('\n', from);
      const end = at < 0 ? text.length : at;
      const line = ++this.#line;
      // Of blank lines there may be any number, which should cost nobody more than their sender.
      if (text.charCodeAt(from) > SPACE || end - from > most || !isBlank(text, from, end)) {
        const fault = this.#faultOf(whole, from, end, areTexts);
        if (fault === undefined) found.add(line, from, end);
        else found.addFault(line, fault);
      }
      from = end + 1;
    }
    return found;
  }

  #faultOf(bytes: Buffer, from: number, end: number, isText: boolean): ServiceError | undefined {
    if (end - from > this.#mostBytes) return this.#tooLarge();
    if (isText) return undefined;
    const line = bytes.subarray(from, end);
    if (!isUtf8(line)) return bodyNotReadable('The record is not valid UTF-8');
    return line.includes(0) ? bodyNotReadable('The record is not JSON: it holds a NUL character') : undefined;
  }

  /** A byte order mark at the very start is no part of the first record. */
  #withoutMark(bytes: Buffer): Buffer {
    if (!this.#isFirst) return bytes;
    this.#isFirst = false;
    return bytes.subarray(0, MARK.length).equals(MARK) ? bytes.subarray(MARK.length) : bytes;
  }

  #tooLarge(): ServiceError {
    return bodyTooLarge(`The record is larger than the limit of ${this.#mostBytes} bytes (--max-body)`);
  }
}

const textOf = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

/** Only the white space of JSON. */
function isBlank(text: string, from: number, end: number): boolean {
  for (let i = from; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code !== SPACE && code !== 0x09 && code !== 0x0d) return false;
  }
  return true;
}
