/** Queue of requests that wait for a connection; a request whose caller has gone leaves it. */
import { callerGone } from '../../lib/errors.ts';

interface Waiting {
  readonly isGone: () => boolean;
  begin(): void;
  leave(error: Error): void;
}

export class ConnectionSlots {
  #free: number;
  readonly #line = new Set<Waiting>();

  constructor(connections: number) {
    this.#free = connections;
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#line.size;
  }

  /** Waits for a turn, which `free` ends. @throws callerGone; the reason of `late` when that comes first. */
  async take(isGone: () => boolean, late: AbortSignal): Promise<void> {
    if (isGone()) throw gone();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { isGone, begin: resolve, leave: reject };
    const leave = (): void => {
      if (this.#line.delete(waiting)) reject(late.reason as Error);
    };
    this.#line.add(waiting);
    late.addEventListener('abort', leave);
    await promise.finally(() => late.removeEventListener('abort', leave));
  }

  free(): void {
    for (const waiting of this.#line) {
      this.#line.delete(waiting);
      if (!waiting.isGone()) return waiting.begin();
      waiting.leave(gone());
    }
    this.#free++;
  }
}

const gone = (): Error => callerGone('The client went away before its call began');
