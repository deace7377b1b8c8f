/** A thread for checks, and the queue before it. What passes a limit, or breaks the thread, ends it; the others go on in the next. */
import { ServiceError, overloaded } from '../../lib/errors.ts';
import { LimitedThread, ThreadLimitPassed } from '../../lib/limited-thread.ts';
import type { ThreadLimits } from '../../lib/limited-thread.ts';
import { uptime } from '../../lib/uptime.ts';
import type { CheckAnswer, CheckJob, CompileAnswer, CompileJob, ThreadAnswer, ThreadJob } from './schema-thread.ts';

/** It passed a limit; `isAlone`: and no other was with it, so that it is known which one. */
export class TooMuchWork extends Error {
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
export class ThreadEnded extends Error {
  override readonly name = 'ThreadEnded';
  readonly isAlone: boolean;

  constructor(isAlone: boolean, cause: unknown) {
    super('the thread that checks ended', { cause });
    this.isAlone = isAlone;
  }
}

export interface LaneOptions extends ThreadLimits {
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

export class SchemaLane implements AsyncDisposable {
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
