/** Ends a batch that goes on in neither direction, or that would keep the service from its end. */
import type { ServerResponse } from 'node:http';
import { uptime } from '../../../lib/time.ts';
import type { Lifecycle } from '../../../lifecycle.ts';
import type { BatchSource } from './batch-source.ts';

export interface WatchOptions {
  /** Milliseconds without any progress after which a batch ends. */
  readonly idle: number;
  /** Milliseconds that the longest call may take. */
  readonly longestCall: number;
}

const LOOK_MS = 250;
/** Milliseconds beyond the longest call without a step, after which the service itself is taken to hang. */
const BEYOND_CALL_MS = 10 * 60_000;
/** What is on its way when a batch ends is still given to its client, for so long. */
const LAST_MS = 1000;

export class BatchWatch implements Disposable {
  readonly #lifecycle: Pick<Lifecycle, 'stopping'>;
  readonly #options: WatchOptions;
  readonly #source: BatchSource;
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;
  #last: NodeJS.Timeout | undefined;
  #progress = uptime();
  #reason: string | undefined;

  /** True while the next step is up to the service. */
  isWorking = (): boolean => false;

  constructor(
    source: BatchSource,
    response: ServerResponse,
    lifecycle: Pick<Lifecycle, 'stopping'>,
    options: WatchOptions,
  ) {
    this.#lifecycle = lifecycle;
    this.#source = source;
    this.#response = response;
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  readonly onProgress = (): void => {
    this.#progress = uptime();
  };

  /** Why it has ended the batch, where it has. */
  get reason(): string | undefined {
    return this.#reason;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    clearTimeout(this.#last);
  }

  #look(): void {
    const { longestCall } = this.#options;
    const idle = this.isWorking() ? Math.max(longestCall + BEYOND_CALL_MS, this.#options.idle) : this.#options.idle;
    if (this.#lifecycle.stopping) this.#end('the service is stopping');
    else if (uptime() - this.#progress > idle)
      this.#end(`it made no progress for ${this.#options.idle / 1000} s (--batch-idle)`);
  }

  #end(reason: string): void {
    clearInterval(this.#timer);
    this.#reason = reason;
    this.#source.stop(new Error(reason));
    this.#last = setTimeout(() => this.#response.destroy(), LAST_MS);
  }
}
