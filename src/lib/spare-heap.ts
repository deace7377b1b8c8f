/**
 * Gives back to the system what V8 holds of memory without need. By itself it keeps what a start or a rush of calls took
 * for as long as the service lives: the young generation alone grows to 128 MB.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes: less is not worth the pause. */
const LEAST_GROWTH_BYTES = 32 * 2 ** 20;
const LOOK_EVERY_MS = 30_000;
/** The part of the time between two looks for which a service at rest may work. */
const REST_PART = 0.01;

export interface SpareHeapOptions {
  /** The part of the time since it was asked the last time for which this thread worked. */
  readonly busyPart?: () => number;
  readonly lookEveryMs?: number;
  readonly leastGrowth?: number;
}

export class SpareHeap implements Disposable {
  readonly #busyPart: () => number;
  readonly #lookEveryMs: number;
  readonly #leastGrowth: number;
  #timer: NodeJS.Timeout | undefined;
  #collect: NodeJS.GCFunction | undefined;
  /** Bytes that were needed when it was last given back. */
  #needed = 0;

  constructor({
    busyPart = busyPartOfThread(),
    lookEveryMs = LOOK_EVERY_MS,
    leastGrowth = LEAST_GROWTH_BYTES,
  }: SpareHeapOptions = {}) {
    this.#busyPart = busyPart;
    this.#lookEveryMs = lookEveryMs;
    this.#leastGrowth = leastGrowth;
  }

  /** Gives back whenever the service has rested: calls do not meet the pause. */
  watch(): void {
    this.#timer ??= setInterval(() => {
      if (this.#busyPart() <= REST_PART) this.giveBack();
    }, this.#lookEveryMs).unref();
  }

  /** At once, where it grew: it stops this thread for some 30 ms, and 36 ms more for each thousand of knowledge objects. */
  giveBack(): boolean {
    if (heapSize() - this.#needed < this.#leastGrowth) return false;
    this.#collect ??= collector();
    // An ordinary collection keeps the pages that it empties.
    this.#collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    this.#needed = heapSize();
    return true;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

const heapSize = (): number => getHeapStatistics().total_heap_size;

function busyPartOfThread(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

/** The flag concerns contexts that are made while it is set. */
function collector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as NodeJS.GCFunction;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
