/** Cuts bytes into the records of NDJSON: "One record a line in, one line a record out". */
import { isUtf8 } from 'node:buffer';
import { GrowingBytes } from '../../lib/growing-bytes.ts';
import { bodyNotReadable, bodyTooLarge } from '../../lib/errors.ts';
import type { ServiceError } from '../../lib/errors.ts';
import { noRoom } from '../held-bytes.ts';
import type { HeldBytes } from '../held-bytes.ts';

/** A line that is not blank. */
export interface RecordLine {
  /** From 1; blank lines count. */
  readonly line: number;
  /** What stands there, or why it is no record. */
  readonly record: string | Error;
}

const LINE_FEED = 0x0a;
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** Bytes of UTF-8 that one unit of UTF-16 may become. */
const MAX_UNIT_BYTES = 3;

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

  /** The records that end in these bytes. */
  push(chunk: Buffer): RecordLine[] {
    const found: RecordLine[] = [];
    const end = chunk.lastIndexOf(LINE_FEED);
    let from = 0;
    if (end >= 0 && (this.#skips || this.#begun.size > 0)) {
      from = chunk.indexOf(LINE_FEED) + 1;
      this.#endBegun(chunk.subarray(0, from - 1), found);
    }
    if (end >= from) this.#cut(chunk.subarray(from, end), found);
    this.#begin(end < 0 ? chunk : chunk.subarray(end + 1), found);
    this.#bytesInVain = found.length > 0 ? 0 : this.#bytesInVain + chunk.length;
    return found;
  }

  /** The last line, where no line feed ends it. */
  end(): RecordLine[] {
    const found: RecordLine[] = [];
    if (this.#skips || this.#begun.size > 0) this.#endBegun(Buffer.alloc(0), found);
    return found;
  }

  [Symbol.dispose](): void {
    this.#held.shrink(this.#begun.held);
    this.#begun.clear();
  }

  /** Keeps the beginning of a line; of one that becomes too large its error comes now, and its rest is skipped. */
  #begin(bytes: Buffer, found: RecordLine[]): void {
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
    found.push({ line: this.#line + 1, record: isTooLarge ? this.#tooLarge() : noRoom() });
  }

  #endBegun(rest: Buffer, found: RecordLine[]): void {
    if (this.#skips) {
      this.#skips = this.#isFirst = false;
      this.#line++;
      return;
    }
    this.#held.shrink(this.#begun.held);
    this.#begun.add(rest);
    this.#cut(this.#begun.take(), found);
  }

  /** Whole lines, without the last line feed. */
  #cut(bytes: Buffer, found: RecordLine[]): void {
    const whole = this.#withoutMark(bytes);
    // What is no UTF-8 becomes another character in the text: it concerns its own line only.
    if (!isUtf8(whole)) return this.#cutEach(whole, found);
    const text = whole.toString('utf8');
    for (let from = 0; from <= text.length;) {
      // Of blank lines there may be any number, which should cost nobody more than their sender.
      if (text.charCodeAt(from) === LINE_FEED) {
        this.#line++;
        from++;
        continue;
      }
      const at = text.indexOf('\n', from);
      const end = at < 0 ? text.length : at;
      this.#add(text.slice(from, end), found);
      from = end + 1;
    }
  }

  #cutEach(bytes: Buffer, found: RecordLine[]): void {
    for (let from = 0; from <= bytes.length;) {
      const at = bytes.indexOf(LINE_FEED, from);
      const end = at < 0 ? bytes.length : at;
      const line = bytes.subarray(from, end);
      if (isUtf8(line)) this.#add(line.toString('utf8'), found);
      else found.push({ line: ++this.#line, record: bodyNotReadable('The record is not valid UTF-8') });
      from = end + 1;
    }
  }

  #add(text: string, found: RecordLine[]): void {
    this.#line++;
    if (text.trim() === '') return;
    found.push({ line: this.#line, record: this.#recordOf(text) });
  }

  #recordOf(text: string): string | ServiceError {
    const { length } = text;
    if (
      length > this.#mostBytes ||
      (length * MAX_UNIT_BYTES > this.#mostBytes && Buffer.byteLength(text) > this.#mostBytes)
    )
      return this.#tooLarge();
    if (text.includes('\0')) return bodyNotReadable('The record is not JSON: it holds a NUL character');
    return text;
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
