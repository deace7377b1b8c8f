/** Tries again what failed for a reason that passes, less and less often, until it is over. */
import { Backoff } from '../lib/backoff.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

export interface RetriesOptions {
  /** True while there is something to try again. */
  readonly isPending: () => boolean;
  /** Tries it. What it rejects with counts as one more failure. */
  readonly attempt: () => Promise<void>;
  readonly onError: (thrown: unknown) => void;
}

export class Retries {
  readonly #options: RetriesOptions;
  readonly #backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** When the last attempt ended, in milliseconds of `performance.now()`. */
  #ended = -Infinity;
  #disposed = false;

  constructor(options: RetriesOptions) {
    this.#options = options;
  }

  /** To be called after each change of what is loaded. */
  watch(): void {
    if (this.#disposed || this.#running !== undefined) return;
    if (!this.#options.isPending()) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#backoff.reset();
      return;
    }
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#run(), this.#backoff.next()).unref();
  }

  /** Tries at once, but for callers that ask again and again; those at the same time share one attempt. */
  async now(): Promise<void> {
    if (this.#running === undefined && performance.now() - this.#ended < FIRST_PAUSE_MS) return;
    await this.#run();
  }

  get isDisposed(): boolean {
    return this.#disposed;
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
  }

  #run(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#options
      .attempt()
      .catch(this.#options.onError)
      .finally(() => {
        this.#running = undefined;
        this.#ended = performance.now();
        this.watch();
      });
    return this.#running;
  }
}
