/**
 * Runs the records of a batch: cut from bytes as they come, many on their way at once, answered in their order. How fast
 * answers are taken decides how fast bytes are read.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endOfLine, type RecordBlock, type RecordsAnswer } from '../../engines/records.ts';
import { bodyTooLarge, ServiceError } from '../../lib/errors.ts';
import { Tally } from '../../lib/tally.ts';
import { uptime } from '../../lib/time.ts';
import type { HeldBytes } from '../held-bytes.ts';
import { type CutRecords, RecordLines } from './record-lines.ts';

export interface BatchParts {
  readonly run: (records: RecordBlock) => Promise<RecordsAnswer>;
  /** Takes lines of the answer, a character for each byte, and resolves when more may come. */
  readonly write: (lines: string) => Promise<void> | undefined;
  /** What a record that has no result says, as JSON. */
  readonly errorText: (error: Error, line: number) => string;
  /** Bytes of one record. */
  readonly mostBytes: number;
  /** Bytes that may come without a record among them. */
  readonly mostInVain: number;
  /** Takes account of what is on its way. */
  readonly held: HeldBytes;
  /** Hears of each step, so that somebody else can tell when there are none. */
  readonly onProgress: () => void;
}

interface BatchTotals {
  readonly records: number;
  readonly failed: number;
}

/** Pieces on their way: the next ones are there when one is answered. */
const PIECES_ON_THEIR_WAY = 8;
/** What one piece holds at most. */
const PIECE_RECORDS = 1024;
/** Milliseconds of work on their way at most, by what was answered lately: another batch waits for no more than that. */
const WORK_ON_ITS_WAY_MS = 200;
const LEAST_RECORDS_ON_THEIR_WAY = 4;
/** How much the latest piece changes what is known of the pace. */
const LATEST_PART = 0.3;
const PIECE_BYTES = 128 * 1024;
/** … of the answers that are expected: all of one piece are in memory at once. */
const PIECE_ANSWER_BYTES = 1024 * 1024;
/** Bytes on their way, whatever the number of pieces. */
const BYTES_ON_THEIR_WAY = 4 * 1024 * 1024;
/** How much of what one answer is expected to take is forgotten with each piece: one that was large may be followed by others. */
const FORGOTTEN_PART = 0.05;

interface Piece {
  readonly bytes: number;
  readonly records: number;
  readonly lines: Promise<string>;
}

export class RecordBatch {
  readonly #parts: BatchParts;
  readonly #lines: RecordLines;
  readonly #open: Piece[] = [];
  #bytes = 0;
  #records = 0;
  #failed = 0;
  /** Bytes that one answer is expected to take. */
  #expected: number | undefined;
  /** Records a millisecond. */
  #pace = 0;
  #lastAnswer = 0;
  #recordsOnTheirWay = 0;
  /** Pieces that are not answered. */
  #running = 0;
  #isRead = false;
  #isOver = false;
  #changed: (() => void) | undefined;

  constructor(parts: BatchParts) {
    this.#parts = parts;
    this.#lines = new RecordLines(parts.mostBytes, parts.held);
  }

  get totals(): BatchTotals {
    return { records: this.#records, failed: this.#failed };
  }

  /** The next step is up to the service. */
  get isWorking(): boolean {
    return this.#running > 0;
  }

  /**
   * Until all is answered. Where the source fails, what it gave before is answered first; what a ServiceError says has
   * the last line, unless that has its error. @throws what reading or writing throws; bodyTooLarge where no record comes.
   */
  async process(source: AsyncIterable<Buffer>): Promise<BatchTotals> {
    let problem: { readonly thrown: unknown } | undefined;
    const reading = this.#read(source)
      .catch((thrown: unknown) => (problem = { thrown }))
      .finally(() => {
        this.#isRead = true;
        this.#tell();
      });
    try {
      await this.#write();
    } finally {
      this.#isOver = true;
      this.#tell();
      // Where writing failed, reading ends with its source.
      void reading.then(() => this.#letGo());
    }
    if (problem === undefined) return this.totals;
    const { thrown } = problem;
    if (thrown instanceof ServiceError && !this.#lines.isRefused)
      await this.#parts.write(this.#errorLine(thrown, this.#lines.line + 1));
    throw thrown;
  }

  #letGo(): void {
    const { held } = this.#parts;
    this.#lines[Symbol.dispose]();
    held.shrink(this.#bytes);
    for (const { lines } of this.#open.splice(0))
      lines.then(
        ({ length }) => held.shrink(length),
        () => undefined,
      );
  }

  async #read(source: AsyncIterable<Buffer>): Promise<void> {
    const { onProgress, mostInVain } = this.#parts;
    for await (const chunk of source) {
      onProgress();
      await this.#begin(this.#lines.push(chunk));
      if (this.#isOver) return;
      if (this.#lines.bytesInVain > mostInVain)
        throw bodyTooLarge(`No record ends within ${mostInVain} bytes, and none begins`);
    }
    await this.#begin(this.#lines.end());
  }

  async #write(): Promise<void> {
    for (;;) {
      const [piece] = this.#open;
      if (piece === undefined) {
        if (this.#isRead) return;
        await this.#nextChange();
        continue;
      }
      const lines = await piece.lines;
      this.#parts.onProgress();
      const taken = this.#parts.write(lines);
      if (taken !== undefined) await taken;
      this.#open.shift();
      this.#bytes -= piece.bytes;
      this.#recordsOnTheirWay -= piece.records;
      this.#parts.held.shrink(piece.bytes + lines.length);
      this.#tell();
    }
  }

  /** Gives out records in pieces, each as soon as there is room for it. */
  async #begin(cut: CutRecords): Promise<void> {
    for (let at = 0; at < cut.count;) {
      while (!this.#isOver && !this.#hasRoom) await this.#nextChange();
      if (this.#isOver) return;
      const from = at;
      const expected = this.#expected ?? PIECE_ANSWER_BYTES;
      const most = Math.min(
        Math.ceil(this.#recordsAtOnce / PIECES_ON_THEIR_WAY),
        Math.ceil(PIECE_ANSWER_BYTES / expected),
      );
      let bytes = 0;
      while (at < cut.count && at - from < most && bytes < PIECE_BYTES) bytes += cut.bytesOf(at++);
      await this.#roomFor(bytes);
      if (this.#isOver) return;
      this.#parts.held.add(bytes);
      this.#bytes += bytes;
      const answered = this.#answer(cut, from, at);
      // Whoever writes hears of it, unless the batch ends before.
      answered.catch(() => undefined);
      this.#recordsOnTheirWay += at - from;
      this.#open.push({ bytes, records: at - from, lines: answered });
      this.#tell();
      // Single calls have their turn between the pieces.
      await nextTurn();
    }
  }

  get #hasRoom(): boolean {
    return (
      this.#open.length < PIECES_ON_THEIR_WAY &&
      this.#bytes <= BYTES_ON_THEIR_WAY &&
      this.#recordsOnTheirWay < this.#recordsAtOnce
    );
  }

  get #recordsAtOnce(): number {
    const atPace = Math.round(this.#pace * WORK_ON_ITS_WAY_MS);
    return Math.min(PIECES_ON_THEIR_WAY * PIECE_RECORDS, Math.max(LEAST_RECORDS_ON_THEIR_WAY, atPace));
  }

  #learnPace(records: number, began: number): void {
    const now = uptime();
    const latest = records / Math.max(0.1, now - Math.max(began, this.#lastAnswer));
    this.#pace = this.#pace === 0 ? latest : this.#pace * (1 - LATEST_PART) + latest * LATEST_PART;
    this.#lastAnswer = now;
  }

  /** Waits while the service holds as much as it may; one piece always goes on, so that no batch waits for ever. */
  async #roomFor(bytes: number): Promise<void> {
    while (!this.#isOver && this.#open.length > 0 && !this.#parts.held.hasRoom(this.#bytes + bytes))
      await this.#nextChange();
  }

  /** The lines of the answer to a piece. */
  async #answer(cut: CutRecords, from: number, to: number): Promise<string> {
    const block = cut.block(from, to);
    const answer = block.count === 0 ? [] : await this.#run(block);
    const text = this.#join(answer, cut, from, to);
    this.#records += to - from;
    this.#parts.held.add(text.length);
    this.#expected = Math.max(text.length / (to - from), 1, (this.#expected ?? 0) * (1 - FORGOTTEN_PART));
    return text;
  }

  /** Puts what is no record among the answers of those that are. */
  #join(answer: RecordsAnswer, cut: CutRecords, from: number, to: number): string {
    let text = '';
    let next = from;
    const addFaults = (): void => {
      for (let fault = cut.faultOf(next); fault !== undefined && next < to; fault = cut.faultOf(next))
        text += this.#errorLine(fault, cut.lineOf(next++));
    };
    for (const part of answer) {
      addFaults();
      if (part instanceof Error) {
        text += this.#errorLine(part, cut.lineOf(next++));
        continue;
      }
      let { lines, count } = part;
      while (count > 0) {
        let run = 1;
        while (run < count && cut.faultOf(next + run) === undefined) run++;
        const end = run === count ? lines.length : endOfLine(lines, run) + 1;
        text += lines.slice(0, end);
        lines = lines.slice(end);
        count -= run;
        next += run;
        addFaults();
      }
    }
    addFaults();
    if (next !== to) throw new Error(`${to - next} records of ${to - from} have no answer`);
    return text;
  }

  async #run(records: RecordBlock): Promise<RecordsAnswer> {
    const began = uptime();
    this.#running++;
    try {
      const answer = await this.#parts.run(records);
      this.#learnPace(records.count, began);
      return answer;
    } finally {
      this.#running--;
      this.#parts.onProgress();
    }
  }

  #errorLine(error: Error, line: number): string {
    this.#failed++;
    return Buffer.from(`{"error":${this.#parts.errorText(error, line)},"line":${line}}\n`).toString('latin1');
  }

  #tell(): void {
    this.#changed?.();
  }

  /** Resolves with the next change. */
  #nextChange(): Promise<void> {
    const before = this.#changed;
    return new Promise((resolve) => {
      this.#changed = () => {
        this.#changed = undefined;
        before?.();
        resolve();
      };
    });
  }
}

// What is counted of batches, whatever protocol they come by.

/** How a batch ended. */
export type BatchOutcome = 'done' | 'client-gone' | 'broken-off';

export interface BatchFigures {
  readonly running: number;
  /** By outcome, since the start. */
  readonly batches: Iterable<readonly [outcome: string, count: number]>;
  readonly records: Iterable<readonly [outcome: string, count: number]>;
}

export class BatchCounts {
  readonly #running = new Set<RecordBatch>();
  readonly #ended = new Tally<BatchOutcome>(['done', 'client-gone', 'broken-off']);
  readonly #records = new Tally<string>(['done', 'failed']);

  begin(batch: RecordBatch): void {
    this.#running.add(batch);
  }

  end(batch: RecordBatch, outcome: BatchOutcome): void {
    this.#running.delete(batch);
    this.#ended.add(outcome);
    addTotals(this.#records, batch.totals);
  }

  /** Records count as soon as they are answered. */
  figures(): BatchFigures {
    const records = new Tally<string>(['done', 'failed']);
    for (const [outcome, count] of this.#records) records.add(outcome, count);
    for (const { totals } of this.#running) addTotals(records, totals);
    return { running: this.#running.size, batches: this.#ended, records };
  }
}

function addTotals(records: Tally<string>, { records: all, failed }: BatchTotals): void {
  records.add('done', all - failed);
  records.add('failed', failed);
}
