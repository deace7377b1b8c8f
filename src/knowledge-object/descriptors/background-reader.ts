/**
 * Reads descriptors without keeping others waiting: the parser needs about 2 µs for each bracket, and a descriptor may
 * have hundreds of thousands of them. What is small is read at once; the rest by a thread of its own, which has limits.
 */
import { deserialize } from 'node:v8';
import { importRefused } from '../../lib/errors.ts';
import { LimitedThread, ThreadLimitPassed } from '../../lib/limited-thread.ts';
import type { ThreadLimits } from '../../lib/limited-thread.ts';
import type { Deployment } from './deployment.ts';
import { PARSERS } from './descriptor-reader.ts';
import type { DescriptorKinds, DescriptorReader } from './descriptor-reader.ts';
import type { Reading, ReadingJob } from './reader-thread.ts';
import type { Service } from './service.ts';
import { hasMoreMarks } from './yaml-document.ts';

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
  readonly #thread: LimitedThread<ReadingJob, Reading>;

  constructor({ timeout = 10_000, memory = 512, idle = 10_000 }: BackgroundReaderOptions = {}) {
    this.#limits = { timeout, memory, idle };
    this.#thread = new LimitedThread(new URL('./reader-thread.ts', import.meta.url), this.#limits);
  }

  service(text: string, file: string): Promise<Service> {
    return this.#read('service', text, file);
  }

  deployment(text: string, file: string): Promise<Deployment> {
    return this.#read('deployment', text, file);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#thread[Symbol.asyncDispose]();
  }

  /** @throws importRefused when it exceeds a limit. */
  async #read<K extends keyof DescriptorKinds>(kind: K, text: string, file: string): Promise<DescriptorKinds[K]> {
    if (isSmall(text)) return PARSERS[kind](text, file);
    const reading = await this.#inThread({ kind, text, file });
    if ('refused' in reading) throw importRefused(reading.refused, { problems: reading.problems });
    if ('failed' in reading) throw importRefused(`${file} cannot be read`, { cause: new Error(reading.failed) });
    return deserialize(reading.value) as DescriptorKinds[K];
  }

  async #inThread(job: ReadingJob): Promise<Reading> {
    try {
      return await this.#thread.run(job);
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

/** With anchors, a small text may describe a huge one. */
const isSmall = (text: string): boolean =>
  text.length <= SMALL_BYTES && !text.includes('&') && !hasMoreMarks(text, FEW_MARKS);
