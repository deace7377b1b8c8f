/**
 * Reads descriptors without keeping others waiting: the parser needs about 2 µs for each bracket, and a descriptor may
 * have hundreds of thousands of them. What is small is read at once; the rest by a thread of its own, which has limits.
 */
import { setImmediate } from 'node:timers/promises';
import { deserialize } from 'node:v8';
import { importRefused } from '../../lib/errors.ts';
import { LimitedThread, ThreadLimitPassed, type ThreadLimits } from '../../lib/limited-thread.ts';
import { type Deployment, parseDeployment } from './deployment.ts';
import type { Reading, ReadingJob } from './reader-thread.ts';
import { parseService, type Service } from './service.ts';
import { hasMoreMarks } from './yaml-document.ts';

/** Reads descriptors. All throw importRefused, with the file and, where there is one, the line. */
export interface DescriptorReader {
  service(text: string, file: string): Promise<Service>;
  deployment(text: string, file: string): Promise<Deployment>;
}

/** What there is to read, and what it gives. */
export interface DescriptorKinds {
  readonly service: Service;
  readonly deployment: Deployment;
}

export const PARSERS: { readonly [K in keyof DescriptorKinds]: (text: string, file: string) => DescriptorKinds[K] } = {
  service: parseService,
  deployment: parseDeployment,
};

/** On this thread: for programs in which nobody waits meanwhile, and in tests. */
export const readHere: DescriptorReader = {
  service: async (text, file) => Promise.resolve(parseService(text, file)),
  deployment: async (text, file) => Promise.resolve(parseDeployment(text, file)),
};

export interface BackgroundReaderOptions {
  /** Milliseconds that a descriptor may take. */
  readonly timeout?: number;
  /** Megabytes that it may take meanwhile. */
  readonly memory?: number;
  /** Milliseconds after which a thread without work is given back. */
  readonly idle?: number;
}

/** Characters, and lines, brackets and separators, that are read within a few milliseconds. */
const SMALL_BYTES = 64 * 1024;
const FEW_MARKS = 2000;

export class BackgroundReader implements DescriptorReader, AsyncDisposable {
  readonly #limits: ThreadLimits;
  readonly #thread: ReadingThread;
  /** Reads what is small. */
  readonly #smallThread: ReadingThread;
  /** What is small and waits until the thread has read what came before. */
  #waiting: { readonly job: ReadingJob; readonly answer: PromiseWithResolvers<Reading> }[] = [];
  #isReading = false;

  constructor({ timeout = 10_000, memory = 512, idle = 10_000 }: BackgroundReaderOptions = {}) {
    this.#limits = { timeout, memory, idle };
    const program = new URL('./reader-thread.ts', import.meta.url);
    this.#thread = new LimitedThread(program, this.#limits);
    this.#smallThread = new LimitedThread(program, this.#limits);
  }

  /** For very many descriptors: those that are small are read in a thread too, beside what else there is to do with each. */
  readonly ofMany: DescriptorReader = {
    service: (text, file) => this.#read('service', text, file, true),
    deployment: (text, file) => this.#read('deployment', text, file, true),
  };

  service(text: string, file: string): Promise<Service> {
    return this.#read('service', text, file);
  }

  deployment(text: string, file: string): Promise<Deployment> {
    return this.#read('deployment', text, file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]();
    await this.#smallThread[Symbol.asyncDispose]();
  }

  /** @throws importRefused when it exceeds a limit. */
  async #read<K extends keyof DescriptorKinds>(
    kind: K,
    text: string,
    file: string,
    isOfMany = false,
  ): Promise<DescriptorKinds[K]> {
    const small = isSmall(text);
    if (small && !isOfMany) return PARSERS[kind](text, file);
    const job = { kind, text, file };
    const reading = await (small ? this.#withOthers(job) : this.#inThread(job));
    if ('refused' in reading) throw importRefused(reading.refused, { problems: reading.problems });
    if ('failed' in reading) throw importRefused(`${file} cannot be read`, { cause: new Error(reading.failed) });
    return deserialize(reading.value) as DescriptorKinds[K];
  }

  #withOthers(job: ReadingJob): Promise<Reading> {
    const answer = Promise.withResolvers<Reading>();
    this.#waiting.push({ job, answer });
    if (!this.#isReading) void this.#readWaiting();
    return answer.promise;
  }

  /** Each time all that came meanwhile: a message for each would cost as much as reading it. Never rejects. */
  async #readWaiting(): Promise<void> {
    this.#isReading = true;
    // Others come in the same turn.
    await setImmediate();
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0, MOST_TOGETHER);
      const readings = await this.#smallThread.run(some.map(({ job }) => job)).catch(() => []);
      // Where they pass a limit together, each is read within its own.
      for (const [i, { job, answer }] of some.entries()) answer.resolve(readings[i] ?? this.#inThread(job));
    }
    this.#isReading = false;
  }

  async #inThread(job: ReadingJob): Promise<Reading> {
    try {
      return await readOne(this.#thread, job);
    } catch (thrown) {
      if (!(thrown instanceof ThreadLimitPassed)) throw thrown;
      const { timeout, memory } = this.#limits;
      throw importRefused(
        thrown.limit === 'time'
          ? `${job.file} cannot be read within ${timeout / 1000} s: make it smaller`
          : `${job.file} needs more than ${memory} MB to be read: make it smaller`,
        { cause: thrown },
      );
    }
  }
}

type ReadingThread = LimitedThread<readonly ReadingJob[], readonly Reading[]>;

/** Small descriptors that are read within one limit. */
const MOST_TOGETHER = 64;

async function readOne(thread: ReadingThread, job: ReadingJob): Promise<Reading> {
  const [reading = { failed: 'the thread gave no answer' }] = await thread.run([job]);
  return reading;
}

/** With anchors, a small text may describe a huge one. */
const isSmall = (text: string): boolean =>
  text.length <= SMALL_BYTES && !text.includes('&') && !hasMoreMarks(text, FEW_MARKS);
