/**
 * Checks what calls send and give by the schemas of their knowledge objects, beside the service's own thread. Schemas
 * and values come from others: what is large or was seen to take long has a thread of its own, in which each waits for its turn.
 */
import { overloaded, ServiceError } from '../../lib/errors.ts';
import { LimitedThread, ThreadLimitPassed, type ThreadLimits } from '../../lib/limited-thread.ts';
import { uptime } from '../../lib/time.ts';
import type {
  CheckAnswer,
  CheckJob,
  CheckOutcome,
  CompileAnswer,
  CompileJob,
  SchemaQuestion,
  ThreadAnswer,
  ThreadJob,
} from './schema-thread.ts';

/** What is needed to find the schema. */
export interface SchemaSource {
  readonly question: SchemaQuestion;
  /** Bytes of a file of the package; undefined where there is none. */
  readonly size: (path: string) => Promise<number | undefined>;
  readonly read: (path: string) => Promise<Buffer>;
  /** Hears once what in the schema is not checked, or that nothing is. */
  readonly onNotes: (notes: readonly string[], failure: string | undefined) => void;
}

/** `none`: the knowledge object declares no schema. `failed`: it cannot be checked with. */
export type Checked =
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'checked'; readonly outcomes: readonly CheckOutcome[] };

export interface ChecksOptions {
  readonly quick?: Partial<LaneOptions>;
  readonly slow?: Partial<LaneOptions>;
}

type Checkable = Pick<CheckJob, 'values' | 'of'>;

const QUICK: LaneOptions = {
  timeout: 1000,
  memory: 256,
  idle: 300_000,
  wait: 10_000,
  jobsAtOnce: 64,
  charactersAtOnce: 256 * 1024,
};
const SLOW: LaneOptions = {
  timeout: 5000,
  memory: 512,
  idle: 10_000,
  wait: 10_000,
  jobsAtOnce: 1,
  charactersAtOnce: 1,
};
/** Characters of values that are checked beside others. */
const SMALL_CHARACTERS = 64 * 1024;
/** Milliseconds beyond which a check is slow, and for which its schema is then taken to be. */
const SLOW_MS = 100;
const SLOW_FOR_MS = 30_000;
/** Of a schema that is made ready beside others: milliseconds that it took before, characters of its files. */
const SMALL_COMPILE_MS = 250;
const SMALL_FILE_CHARACTERS = 32 * 1024;
const MOST_FILES = 50;
const MOST_FILE_CHARACTERS = 2 * 1024 * 1024;

type State =
  | { readonly kind: 'new' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly reason: string };

/** A schema as it is known here; it is made ready by the first check. */
export class KnownSchema {
  readonly key: number;
  readonly source: SchemaSource;
  state: State = { kind: 'new' };
  texts: Map<string, string | null> | undefined;
  /** `uptime()` until which it has the other thread. */
  slowUntil = 0;
  /** How often it ended a thread that it had alone. */
  ends = 0;
  readonly compiling = new Map<SchemaLane, Promise<void>>();

  constructor(key: number, source: SchemaSource) {
    this.key = key;
    this.source = source;
  }
}

export class SchemaChecks implements AsyncDisposable {
  readonly #quick: SchemaLane;
  readonly #slow: SchemaLane;
  #keys = 0;

  constructor({ quick, slow }: ChecksOptions = {}) {
    this.#quick = new SchemaLane({ ...QUICK, ...quick });
    this.#slow = new SchemaLane({ ...SLOW, ...slow });
  }

  schema(source: SchemaSource): KnownSchema {
    return new KnownSchema(++this.#keys, source);
  }

  /** Checks that wait. */
  get waiting(): number {
    return this.#quick.waiting + this.#slow.waiting;
  }

  /** `turn`: for whom it is. `of`: see `CheckJob`. @throws overloaded; where a file cannot be read. */
  async check(
    schema: KnownSchema,
    values: readonly string[],
    turn: string,
    isWanted?: () => boolean,
    of: CheckJob['of'] = 'values',
  ): Promise<Checked> {
    const outcomes: CheckOutcome[] = [];
    for (const some of piecesOf(values)) {
      const { state } = schema;
      if (state.kind === 'none' || state.kind === 'failed') return state;
      const checked = await this.#checkPiece(schema, { values: some, of }, turn, isWanted);
      if (checked.kind !== 'checked') return checked;
      outcomes.push(...checked.outcomes);
    }
    return { kind: 'checked', outcomes };
  }

  async #checkPiece(
    schema: KnownSchema,
    values: Checkable,
    turn: string,
    isWanted: (() => boolean) | undefined,
  ): Promise<Checked> {
    const isLarge = (values.values[0]?.length ?? 0) > SMALL_CHARACTERS;
    if (!isLarge && schema.slowUntil <= uptime()) {
      try {
        return await this.#checkIn(this.#quick, schema, values, turn, isWanted);
      } catch (thrown) {
        if (!(thrown instanceof TooMuchWork || thrown instanceof ThreadEnded)) throw thrown;
        if (thrown.isAlone) schema.slowUntil = uptime() + SLOW_FOR_MS;
      }
    }
    return this.#checkSlowly(schema, values, turn, isWanted);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#quick[Symbol.asyncDispose](), this.#slow[Symbol.asyncDispose]()]);
  }

  /** Each value by itself, so that one of them costs none of the others. */
  async #checkSlowly(
    schema: KnownSchema,
    { values, of }: Checkable,
    turn: string,
    isWanted: (() => boolean) | undefined,
  ): Promise<Checked> {
    const outcomes: CheckOutcome[] = [];
    for (const value of values) {
      const began = uptime();
      try {
        const checked = await this.#checkIn(this.#slow, schema, { values: [value], of }, turn, isWanted);
        if (checked.kind !== 'checked') return checked;
        outcomes.push(...checked.outcomes);
      } catch (thrown) {
        if (!(thrown instanceof TooMuchWork)) throw thrown;
        outcomes.push(`its check takes more ${thrown.limit} than it may`);
        if (value.length <= SMALL_CHARACTERS && uptime() - began > SLOW_MS)
          schema.slowUntil = Math.max(schema.slowUntil, uptime() + SLOW_FOR_MS);
      }
    }
    return { kind: 'checked', outcomes };
  }

  async #checkIn(
    lane: SchemaLane,
    schema: KnownSchema,
    { values, of }: Checkable,
    turn: string,
    isWanted: (() => boolean) | undefined,
  ): Promise<Checked> {
    const job = { kind: 'check' as const, key: schema.key, values, of };
    // Its thread may be ended for the work of others in between.
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const { state: before } = schema;
      if (before.kind === 'failed') return before;
      if (before.kind !== 'new') {
        const answer = await this.#orEnded(schema, lane, () => lane.check(job, turn, isWanted));
        if (answer === 'ended') continue;
        if (answer === undefined) return { kind: 'checked', outcomes: values.map(() => 'nobody waits for it') };
        if (answer.kind === 'checked') return answer;
      }
      await this.#ready(lane, schema);
      const { state } = schema;
      if (state.kind === 'none' || state.kind === 'failed') return state;
      if (lane === this.#quick && schema.slowUntil > uptime()) break;
    }
    throw new TooMuchWork('time', false);
  }

  /**
   * A thread that others share says nothing of this schema, which then gets one alone. There it is tried again once, and
   * refused when it ends that too: `ended`. @throws ThreadEnded where it is to be tried in the other lane; as of `work`.
   */
  async #orEnded<T>(schema: KnownSchema, lane: SchemaLane, work: () => Promise<T>): Promise<T | 'ended'> {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof ThreadEnded)) throw thrown;
      if (thrown.isAlone && ++schema.ends === MOST_ENDS) {
        schema.state = { kind: 'failed', reason: 'checks by it ended the thread that checks, twice' };
        schema.source.onNotes([], schema.state.reason);
      }
      if (lane === this.#quick && schema.ends < MOST_ENDS) throw thrown;
      return 'ended';
    }
  }

  /** Makes it ready in that thread. */
  #ready(lane: SchemaLane, schema: KnownSchema): Promise<void> {
    let compiling = schema.compiling.get(lane);
    if (compiling === undefined) {
      compiling = this.#compile(lane, schema).finally(() => schema.compiling.delete(lane));
      schema.compiling.set(lane, compiling);
    }
    return compiling;
  }

  async #compile(lane: SchemaLane, schema: KnownSchema): Promise<void> {
    const { key, source } = schema;
    const { question } = source;
    const turn = `schema ${key}`;
    let answer: CompileAnswer;
    try {
      schema.texts ??= new Map([[question.file, await this.#text(schema, question.file)]]);
      const { texts } = schema;
      for (;;) {
        const isSmall = characters(texts) <= SMALL_FILE_CHARACTERS;
        // Where nothing is known of it, the thread of large values tries it first.
        const tried = isSmall || schema.state.kind === 'ready' ? lane : this.#slow;
        const made = await this.#orEnded(schema, lane, () =>
          tried.compile({ kind: 'compile', key, question, texts }, turn),
        );
        if (made === 'ended') return;
        answer = made;
        if (answer.kind !== 'needs') break;
        if (texts.size >= MOST_FILES || characters(texts) > MOST_FILE_CHARACTERS) {
          answer = { kind: 'failed', reason: 'the schema is spread over too many or too large files' };
          break;
        }
        texts.set(answer.file, await this.#text(schema, answer.file));
      }
    } catch (thrown) {
      if (thrown instanceof TooLargeFile) return this.#settle(schema, { kind: 'failed', reason: thrown.message });
      if (!(thrown instanceof TooMuchWork)) throw thrown;
      if (lane === this.#quick && !(schema.state.kind === 'new' && schema.slowUntil === Infinity)) {
        schema.slowUntil = Infinity;
        throw thrown;
      }
      answer = { kind: 'failed', reason: `the schema takes more ${thrown.limit} to be made ready than it may` };
    }
    this.#settle(schema, answer);
  }

  #settle(schema: KnownSchema, answer: CompileAnswer): void {
    const isFirst = schema.state.kind === 'new';
    if (answer.kind === 'ready') {
      schema.state = { kind: 'ready' };
      if (answer.milliseconds > SMALL_COMPILE_MS) schema.slowUntil = Infinity;
      if (isFirst && answer.notes.length > 0) schema.source.onNotes(answer.notes, undefined);
    } else if (answer.kind === 'failed') {
      schema.state = answer;
      if (isFirst) schema.source.onNotes([], answer.reason);
    } else schema.state = { kind: 'none' };
  }

  async #text({ source }: KnownSchema, path: string): Promise<string | null> {
    const size = await source.size(path);
    if (size === undefined) return null;
    if (size > MOST_FILE_CHARACTERS) throw new TooLargeFile(`${path} is too large to be checked with`);
    return (await source.read(path)).toString('utf8');
  }
}

class TooLargeFile extends Error {
  override readonly name = 'TooLargeFile';
}

/** Together as many as are small; what is large by itself. */
function* piecesOf(values: readonly string[]): Generator<readonly string[]> {
  let piece: string[] = [];
  let characters = 0;
  for (const value of values) {
    if (piece.length > 0 && characters + value.length > SMALL_CHARACTERS) {
      yield piece;
      piece = [];
      characters = 0;
    }
    piece.push(value);
    characters += value.length;
  }
  if (piece.length > 0) yield piece;
}

const MOST_ATTEMPTS = 4;
/** Of a thread that a schema has alone, before it is refused. */
const MOST_ENDS = 2;

const characters = (texts: ReadonlyMap<string, string | null>): number =>
  [...texts.values()].reduce((sum, text) => sum + (text?.length ?? 0), 0);

// A thread for checks, and the queue before it. What passes a limit, or breaks the thread, ends it; the others go on in the next.

/** It passed a limit; `isAlone`: and no other was with it, so that it is known which one. */
class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork';
  readonly isAlone: boolean;
  readonly limit: 'time' | 'memory';

  constructor(limit: 'time' | 'memory', isAlone: boolean) {
    super(`more ${limit} than a check may take`);
    this.limit = limit;
    this.isAlone = isAlone;
  }
}

/** The thread ended without passing a limit; `isAlone` as of `TooMuchWork`. */
class ThreadEnded extends Error {
  override readonly name = 'ThreadEnded';
  readonly isAlone: boolean;

  constructor(isAlone: boolean, cause: unknown) {
    super('the thread that checks ended', { cause });
    this.isAlone = isAlone;
  }
}

interface LaneOptions extends ThreadLimits {
  /** Jobs, and characters of their values, that go to the thread together. */
  readonly jobsAtOnce: number;
  readonly charactersAtOnce: number;
  /** Milliseconds that a job may wait. */
  readonly wait: number;
  /** For tests: what runs in the thread. */
  readonly program?: URL;
}

interface Waiting {
  readonly job: CheckJob | CompileJob;
  readonly characters: number;
  readonly since: number;
  readonly isWanted: () => boolean;
  readonly resolve: (answer: CheckAnswer | CompileAnswer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Milliseconds for a thread to begin, on a machine that others keep busy. */
const BEGIN_MS = 30_000;
const PROGRAM = new URL('./schema-thread.ts', import.meta.url);

class SchemaLane implements AsyncDisposable {
  readonly #options: LaneOptions;
  readonly #thread: LimitedThread<ThreadJob, ThreadAnswer>;
  /** Whose turn it is: all of one wait behind each other. */
  readonly #turns = new Map<string, Waiting[]>();
  #isRunning = false;
  #isClosed = false;
  #waiting = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#thread = new LimitedThread(options.program ?? PROGRAM, options);
  }

  /** Jobs that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Undefined where nobody wants it any more. @throws TooMuchWork; ThreadEnded; overloaded. */
  check(job: CheckJob, turn: string, isWanted: () => boolean = ALWAYS): Promise<CheckAnswer | undefined> {
    return this.#submit(job, turn, isWanted) as Promise<CheckAnswer | undefined>;
  }

  /** @throws TooMuchWork; ThreadEnded; overloaded. */
  async compile(job: CompileJob, turn: string): Promise<CompileAnswer> {
    const answer = (await this.#submit(job, turn, ALWAYS)) as CompileAnswer | undefined;
    return answer ?? { kind: 'failed', reason: 'the service is stopping' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const { resolve } of [...this.#turns.values()].flat()) resolve(undefined);
    this.#turns.clear();
    await this.#thread[Symbol.asyncDispose]();
  }

  #submit(
    job: CheckJob | CompileJob,
    turn: string,
    isWanted: () => boolean,
  ): Promise<CheckAnswer | CompileAnswer | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const characters = job.kind === 'check' ? job.values.reduce((sum, { length }) => sum + length, 0) : 0;
    return new Promise((resolve, reject) => {
      const waiting = { job, characters, since: uptime(), isWanted, resolve, reject };
      const queue = this.#turns.get(turn);
      if (queue === undefined) this.#turns.set(turn, [waiting]);
      else queue.push(waiting);
      this.#waiting++;
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // What comes in the same turn of the event loop goes together.
    await new Promise(setImmediate);
    while (this.#turns.size > 0) {
      const batch = this.#take();
      if (batch.length > 0) await this.#runTogether(batch);
    }
    this.#isRunning = false;
  }

  /** One of each turn, and again, until there is enough. */
  #take(): Waiting[] {
    const { jobsAtOnce, charactersAtOnce, wait } = this.#options;
    const batch: Waiting[] = [];
    let characters = 0;
    for (const [turn, queue] of this.#turns) {
      if (batch.length >= jobsAtOnce || characters >= charactersAtOnce) break;
      const next = queue.shift();
      this.#turns.delete(turn);
      if (queue.length > 0) this.#turns.set(turn, queue);
      if (next === undefined) continue;
      this.#waiting--;
      if (!next.isWanted()) next.resolve(undefined);
      else if (uptime() - next.since > wait)
        next.reject(overloaded(`The input could not be checked within ${wait / 1000} s: too many wait`, 2));
      else {
        batch.push(next);
        characters += next.characters;
      }
    }
    return batch;
  }

  async #runTogether(batch: readonly Waiting[]): Promise<void> {
    try {
      if (!this.#thread.isRunning) await this.#begin();
      const answers = await this.#thread.run(batch.map(({ job }) => job));
      batch.forEach(({ resolve }, i) => resolve(answers[i]));
    } catch (thrown) {
      if (this.#isClosed) for (const { resolve } of batch) resolve(undefined);
      const error = whatEnded(thrown, batch.length === 1);
      for (const { reject } of batch) reject(error);
    }
  }

  /** No schema is at fault where it cannot. @throws overloaded. */
  async #begin(): Promise<void> {
    try {
      await this.#thread.run([], BEGIN_MS);
    } catch {
      throw overloaded('The input could not be checked, since no thread could be started for that; try again later', 2);
    }
  }
}

function whatEnded(thrown: unknown, isAlone: boolean): Error {
  if (thrown instanceof ServiceError) return thrown;
  return thrown instanceof ThreadLimitPassed
    ? new TooMuchWork(thrown.limit, isAlone)
    : new ThreadEnded(isAlone, thrown);
}

const ALWAYS = (): boolean => true;
