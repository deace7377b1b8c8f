/** Ends a batch that goes on in neither direction, or that would keep the service from its end. */
import type { ServerResponse } from 'node:http';
import { uptime } from '../../../lib/uptime.ts';
import type { Lifecycle } from '../../../lifecycle.ts';
import type { BatchSource } from './batch-source.ts';

export interface WatchOptions {
  readonly lifecycle: Pick<Lifecycle, 'stopping'>;
  /** Milliseconds without any progress after which a batch ends. */
  readonly idle: number;
}

const LOOK_MS = 250;
/** What is on its way when a batch ends is still given to its client, for so long. */
const LAST_MS = 1000;

export class BatchWatch implements Disposable {
  readonly #options: WatchOptions;
  readonly #source: BatchSource;
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;
  #last: NodeJS.Timeout | undefined;
  #progress = uptime();

  constructor(source: BatchSource, response: ServerResponse, options: WatchOptions) {
    this.#source = source;
    this.#response = response;
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  readonly onProgress = (): void => {
    this.#progress = uptime();
  };

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    clearTimeout(this.#last);
  }

  #look(): void {
    const { idle, lifecycle } = this.#options;
    if (lifecycle.stopping) this.#end('the service is stopping');
    else if (uptime() - this.#progress > idle) this.#end(`it made no progress for ${idle / 1000} s (--batch-idle)`);
  }

  #end(reason: string): void {
    clearInterval(this.#timer);
    this.#source.stop(new Error(reason));
    this.#last = setTimeout(() => this.#response.destroy(), LAST_MS);
  }
}
