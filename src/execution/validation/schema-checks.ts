/**
 * Checks what calls send and give by the schemas of their knowledge objects, beside the service's own thread. Schemas
 * and values come from others: what is large or was seen to take long has a thread of its own, in which each waits for its turn.
 */
import { uptime } from '../../lib/uptime.ts';
import { SchemaLane, ThreadEnded, TooMuchWork } from './schema-lane.ts';
import type { LaneOptions } from './schema-lane.ts';
import type { CheckJob, CheckOutcome, CompileAnswer, SchemaQuestion } from './schema-thread.ts';

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
  ...{ timeout: 1000, memory: 256, idle: 300_000, wait: 10_000 },
  ...{ jobsAtOnce: 64, charactersAtOnce: 256 * 1024 },
};
const SLOW: LaneOptions = {
  ...{ timeout: 5000, memory: 512, idle: 10_000, wait: 10_000 },
  ...{ jobsAtOnce: 1, charactersAtOnce: 1 },
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
