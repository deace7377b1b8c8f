/** Brings records through an endpoint: many pieces on their way at once, results in the order of the records. */
import { fieldsOf } from '../../src/lib/json.ts';
import type { InputRecord, Mapping } from './mapping.ts';
import type { Failures } from './open-output.ts';
import { type Output, RunStopped, UnfitResult } from './output.ts';
import type { Journal, RunState } from './run-files.ts';
import type { Source } from './source.ts';

export interface RunParts {
  readonly source: Source;
  readonly mapping: Mapping;
  /** Answers for these inputs, in their order. */
  readonly answers: (inputs: readonly string[]) => AsyncIterable<readonly string[]>;
  readonly output: Output;
  readonly failures: Failures;
  /** Undefined where nothing is kept. */
  readonly journal: Journal | undefined;
  /** Where it goes on. */
  readonly from: RunState;
  readonly concurrency: number;
  readonly maxFailures: number;
  readonly onProgress: (state: Pick<RunState, 'records' | 'failed'>) => void;
  readonly signal: AbortSignal;
}

/** Requests of this size pass what stands in front of services too. */
const PIECE_RECORDS = 1000;
const PIECE_CHARACTERS = 256 * 1024;
/** Answers that wait, of one piece, until those before them have come. */
const AHEAD_CHARACTERS = 4 * 1024 * 1024;
const KEEP_EVERY_MS = 500;

interface Piece {
  readonly records: readonly InputRecord[];
  readonly answers: ReadAhead<readonly string[]>;
}

export class Run {
  readonly #parts: RunParts;
  #records: number;
  #failed: number;
  #keptAt = performance.now();
  #kept: RunState;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.#kept = parts.from;
    this.#records = parts.from.records;
    this.#failed = parts.from.failed;
  }

  get state(): Pick<RunState, 'records' | 'failed'> {
    return { records: this.#records, failed: this.#failed };
  }

  /** What stays, whatever happens. */
  get kept(): RunState {
    return this.#kept;
  }

  /** Keeps all, with what the output ends with. */
  async finish(): Promise<RunState> {
    await this.#keep();
    await this.#parts.output.finish();
    return this.#kept;
  }

  /** @throws RunStopped, CommandFailure. What was done until then is kept. */
  async process(): Promise<void> {
    const { concurrency } = this.#parts;
    const open: Piece[] = [];
    const pieces = this.#pieces();
    try {
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
        if (next.value instanceof Error) {
          // What came before a place that cannot be read is answered first.
          for (const piece of open.splice(0)) await this.#write(piece);
          throw next.value;
        }
        open.push(next.value);
        if (open.length < concurrency) continue;
        const [first] = open.splice(0, 1);
        if (first !== undefined) await this.#write(first);
      }
      for (const piece of open.splice(0)) await this.#write(piece);
    } catch (thrown) {
      // Where this fails too, the run goes on from what was kept before.
      await this.#keep().catch(() => undefined);
      throw thrown;
    }
  }

  /** Gives, as the last one, why there are no more. */
  async *#pieces(): AsyncGenerator<Piece | Error> {
    const { source, mapping, from } = this.#parts;
    let some: InputRecord[] = [];
    let characters = 0;
    let problem: Error | undefined;
    try {
      for await (const raws of source.records(from.records, mapping.used)) {
        this.#checkStopped();
        for (const raw of raws) {
          const record = mapping.read(raw);
          some.push(record);
          characters += typeof record.input === 'string' ? record.input.length : 0;
          if (some.length < PIECE_RECORDS && characters < PIECE_CHARACTERS) continue;
          yield this.#begin(some);
          some = [];
          characters = 0;
        }
      }
    } catch (thrown) {
      problem = thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    if (some.length > 0 && !this.#parts.signal.aborted) yield this.#begin(some);
    if (problem !== undefined) yield problem;
  }

  #begin(records: readonly InputRecord[]): Piece {
    const inputs = records.flatMap(({ input }) => (typeof input === 'string' ? [input] : []));
    const sizeOf = (lines: readonly string[]): number => lines.reduce((sum, { length }) => sum + length, 0);
    return { records, answers: new ReadAhead(this.#parts.answers(inputs), AHEAD_CHARACTERS, sizeOf) };
  }

  async #write({ records, answers }: Piece): Promise<void> {
    let at = 0;
    const takeUnsent = (): void => {
      for (let record = records[at]; record !== undefined && typeof record.input !== 'string'; record = records[++at])
        this.#take(record, undefined);
    };
    takeUnsent();
    for await (const lines of answers) {
      this.#checkStopped();
      for (const line of lines) {
        const record = records[at++];
        if (record === undefined) throw new RunStopped('The service gives more answers than there are records');
        this.#take(record, line);
        if (typeof records[at]?.input !== 'string') takeUnsent();
      }
      await this.#settle();
    }
    await this.#settle();
  }

  #take(record: InputRecord, answer: string | undefined): void {
    const { failures, maxFailures } = this.#parts;
    const failure = this.#failureOf(record, answer);
    this.#records++;
    if (failure === undefined) return;
    this.#failed++;
    failures.add(record.line, record.beside, failure);
    if (this.#failed > maxFailures)
      throw new RunStopped(
        `More than ${maxFailures} records failed (--max-failures), the last one in line ${record.line}`,
      );
  }

  #failureOf(
    { input, beside }: InputRecord,
    answer: string | undefined,
  ): Readonly<Record<string, unknown>> | undefined {
    if (typeof input !== 'string')
      return { Status: '400 Bad Request', Title: 'Record not readable', Detail: input.message };
    if (answer === undefined) return undefined;
    if (answer.startsWith('{"error":')) return fieldsOf(fieldsOf(JSON.parse(answer))['error']);
    try {
      this.#parts.output.add(answer, beside);
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof UnfitResult)) throw thrown;
      return { Title: 'Result not writable', Detail: thrown.message };
    }
  }

  async #settle(): Promise<void> {
    const { output, failures, journal, onProgress } = this.#parts;
    await output.drain();
    await failures.drain();
    onProgress(this.state);
    // Who reads a pipe waits for nothing.
    if (journal === undefined || performance.now() - this.#keptAt > KEEP_EVERY_MS) await this.#keep();
  }

  async #keep(): Promise<void> {
    const { output, failures, journal } = this.#parts;
    const state = {
      ...this.state,
      ...(await output.keep()),
      failures: await failures.keep(),
      lost: [...output.lost],
      isWhole: false,
    };
    await journal?.write(state);
    await output.settled();
    this.#kept = state;
    this.#keptAt = performance.now();
  }

  #checkStopped(): void {
    if (this.#parts.signal.aborted) throw new RunStopped('It was interrupted');
  }
}

/** Reads a source before anybody asks for it, up to a bound. */
class ReadAhead<T> {
  readonly #ready: T[] = [];
  readonly #most: number;
  readonly #sizeOf: (item: T) => number;
  #size = 0;
  #isDone = false;
  #isOver = false;
  #failure: { readonly thrown: unknown } | undefined;
  #changed: (() => void)[] = [];

  constructor(source: AsyncIterable<T>, most: number, sizeOf: (item: T) => number) {
    this.#most = most;
    this.#sizeOf = sizeOf;
    void this.#pump(source);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        const item = this.#ready.shift();
        if (item !== undefined) {
          this.#size -= this.#sizeOf(item);
          this.#tell();
          yield item;
        } else if (this.#failure !== undefined) throw this.#failure.thrown;
        else if (this.#isDone) return;
        else await this.#change();
      }
    } finally {
      this.#isOver = true;
      this.#tell();
    }
  }

  async #pump(source: AsyncIterable<T>): Promise<void> {
    try {
      for await (const item of source) {
        this.#ready.push(item);
        this.#size += this.#sizeOf(item);
        this.#tell();
        while (this.#size > this.#most && !this.#isOver) await this.#change();
        if (this.#isOver) return;
      }
      this.#isDone = true;
    } catch (thrown) {
      this.#failure = { thrown };
    }
    this.#tell();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  #tell(): void {
    for (const each of this.#changed.splice(0)) each();
  }
}
