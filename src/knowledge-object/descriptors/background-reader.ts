/**
 * Reads descriptors without keeping others waiting: the parser needs about 2 µs for each bracket, and a descriptor may
 * have hundreds of thousands of them. What is small is read at once; the rest by a thread of its own, which has limits.
 */
import { deserialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { importRefused } from '../../lib/errors.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
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
  readonly #timeout: number;
  readonly #memory: number;
  readonly #idle: number;
  readonly #queue = new SerialQueue();
  #thread: Worker | undefined;
  #waiting = 0;
  #giveBack: NodeJS.Timeout | undefined;

  constructor({ timeout = 10_000, memory = 512, idle = 10_000 }: BackgroundReaderOptions = {}) {
    this.#timeout = timeout;
    this.#memory = memory;
    this.#idle = idle;
  }

  service(text: string, file: string): Promise<Service> {
    return this.#read('service', text, file);
  }

  deployment(text: string, file: string): Promise<Deployment> {
    return this.#read('deployment', text, file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#giveBack);
    await this.#end();
  }

  async #read<K extends keyof DescriptorKinds>(kind: K, text: string, file: string): Promise<DescriptorKinds[K]> {
    if (isSmall(text)) return PARSERS[kind](text, file);
    clearTimeout(this.#giveBack);
    this.#waiting++;
    try {
      return await this.#queue.run('thread', async () => {
        const reading = await this.#inThread({ kind, text, file });
        if ('refused' in reading) throw importRefused(reading.refused, { problems: reading.problems });
        if ('failed' in reading) throw importRefused(`${file} cannot be read`, { cause: new Error(reading.failed) });
        return deserialize(reading.value) as DescriptorKinds[K];
      });
    } finally {
      if (--this.#waiting === 0) {
        this.#giveBack = setTimeout(() => void this.#end(), this.#idle);
        this.#giveBack.unref();
      }
    }
  }

  /** @throws importRefused when it exceeds a limit. */
  async #inThread(job: ReadingJob): Promise<Reading> {
    const thread = (this.#thread ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<Reading>();
    const tooLong = `${job.file} cannot be read within ${this.#timeout / 1000} s: make it smaller`;
    const timer = setTimeout(() => reject(importRefused(tooLong)), this.#timeout);
    const onError = (cause: Error & { code?: string }): void =>
      reject(
        cause.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? importRefused(`${job.file} needs more than ${this.#memory} MB to be read: make it smaller`, { cause })
          : cause,
      );
    const onExit = (): void => reject(new Error('the thread that reads descriptors ended'));
    thread.once('message', resolve).once('error', onError).once('exit', onExit);
    try {
      thread.postMessage(job);
      return await promise;
    } catch (thrown) {
      await this.#end();
      throw thrown;
    } finally {
      clearTimeout(timer);
      thread.off('message', resolve).off('error', onError).off('exit', onExit);
    }
  }

  #start(): Worker {
    const thread = new Worker(new URL('./reader-thread.ts', import.meta.url), {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#memory },
    });
    // Without a job there is nobody to hear of it.
    thread.on('error', () => this.#forget(thread));
    thread.on('exit', () => this.#forget(thread));
    return thread;
  }

  #forget(thread: Worker): void {
    if (this.#thread === thread) this.#thread = undefined;
  }

  async #end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }
}

/** With anchors, a small text may describe a huge one. */
const isSmall = (text: string): boolean =>
  text.length <= SMALL_BYTES && !text.includes('&') && !hasMoreMarks(text, FEW_MARKS);
