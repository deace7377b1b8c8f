/** A thread for work that must not keep others waiting: one job after the other, each within limits. */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { FairQueue } from './fair-queue.ts';

export interface ThreadLimits {
  /** Milliseconds that a job may take. */
  readonly timeout: number;
  /** Megabytes that it may take meanwhile. */
  readonly memory: number;
  /** Milliseconds after which a thread without work is given back. */
  readonly idle: number;
}

/** A job passed a limit, and its thread was ended. */
export class ThreadLimitPassed extends Error {
  override readonly name = 'ThreadLimitPassed';
  readonly limit: 'time' | 'memory';

  constructor(limit: 'time' | 'memory', cause?: unknown) {
    super(`more ${limit} than a job may take`, { cause });
    this.limit = limit;
  }
}

export class LimitedThread<Job, Answer> implements AsyncDisposable {
  readonly #program: URL;
  readonly #limits: ThreadLimits;
  readonly #spoils: (answer: Answer) => boolean;
  readonly #queue = new FairQueue({ perKey: 1 });
  #thread: Worker | undefined;
  #waiting = 0;
  #giveBack: NodeJS.Timeout | undefined;

  /** `program` answers each message with one of its own; `spoils`: after which answers the thread is not used again. */
  constructor(program: URL, limits: ThreadLimits, spoils: (answer: Answer) => boolean = () => false) {
    this.#program = program;
    this.#limits = limits;
    this.#spoils = spoils;
  }

  /** False where the next job has to wait for a thread to begin. */
  get isRunning(): boolean {
    return this.#thread !== undefined;
  }

  /** `timeout`: milliseconds, where this job may take others. @throws ThreadLimitPassed; the error that ended the thread. */
  async run(job: Job, timeout = this.#limits.timeout): Promise<Answer> {
    clearTimeout(this.#giveBack);
    this.#waiting++;
    try {
      return await this.#queue.run('thread', () => this.#inThread(job, timeout));
    } finally {
      if (--this.#waiting === 0) {
        this.#giveBack = setTimeout(() => void this.#end(), this.#limits.idle);
        this.#giveBack.unref();
      }
    }
  }

  async #end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#giveBack);
    await this.#end();
  }

  async #inThread(job: Job, timeout: number): Promise<Answer> {
    const thread = (this.#thread ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const timer = setTimeout(() => reject(new ThreadLimitPassed('time')), timeout);
    const onError = (cause: Error & { code?: string }): void =>
      reject(cause.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new ThreadLimitPassed('memory', cause) : cause);
    const onExit = (): void => reject(new Error('the thread ended'));
    thread.once('message', resolve).once('error', onError).once('exit', onExit);
    try {
      thread.postMessage(job);
      const answer = await promise;
      if (this.#spoils(answer)) await this.#end();
      return answer;
    } catch (thrown) {
      await this.#end();
      throw thrown;
    } finally {
      clearTimeout(timer);
      thread.off('message', resolve).off('error', onError).off('exit', onExit);
    }
  }

  #start(): Worker {
    const thread = new Worker(this.#program, {
      env: compiledCode(),
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memory },
    });
    // Without a job there is nobody to hear of it.
    thread.on('error', () => this.#forget(thread));
    thread.on('exit', () => this.#forget(thread));
    return thread;
  }

  #forget(thread: Worker): void {
    if (this.#thread === thread) this.#thread = undefined;
  }
}

/** A thread finds code that was compiled before only where it is told the folder; without it, its start takes twice to three times as long. */
function compiledCode(): Record<string, string> {
  // It is that of this Node within the folder.
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
