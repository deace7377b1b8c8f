/**
 * Gives back to the system what V8 and the C library hold of memory without need. By themselves they keep what a start or a
 * rush of calls took for as long as the service lives: the young generation alone grows to 128 MB.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadNative } from './native.ts';

/** Bytes: less is not worth the pause. */
const LEAST_GROWTH_BYTES = 32 * 2 ** 20;
/**
 * The least at a start. What a small shelf makes grow waits for the first rest: giving it back costs as much processor
 * time as a sixth of the start.
 */
const LEAST_AT_START_BYTES = 96 * 2 ** 20;
/** The least for the heap of the C library, whose pause is shorter. */
const LEAST_TRIMMED_BYTES = 8 * 2 ** 20;
const LOOK_EVERY_MS = 30_000;
/** The part of the time between two looks for which a service at rest may work. */
const REST_PART = 0.01;

export interface SpareHeapOptions {
  /** The part of the time since it was asked the last time for which this process worked. */
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
  /** Bytes of V8's heap in use after memory was last given back. */
  #needed = 0;
  /** Bytes of the whole process then. */
  #resident = 0;

  constructor({
    busyPart = busyPartOfProcess(),
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

  /** Before the service is ready, where a rest would be too late for so much: no call meets a pause that grows with the shelf. */
  giveBackAfterStart(): boolean {
    return heapSize() >= LEAST_AT_START_BYTES && this.giveBack();
  }

  /** At once, where it grew: it stops this thread for some 30 ms, and 36 ms more for each thousand of knowledge objects. */
  giveBack(): boolean {
    const hasGrown = heapSize() - this.#needed >= this.#leastGrowth;
    if (hasGrown) {
      this.#collect ??= collector();
      // An ordinary collection keeps the pages that it empties.
      this.#collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      this.#needed = heapSize();
    }
    // After the collection, which frees buffers.
    if (process.memoryUsage.rss() - this.#resident < Math.min(LEAST_TRIMMED_BYTES, this.#leastGrowth)) return hasGrown;
    trimHeap();
    this.#resident = process.memoryUsage.rss();
    return true;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

const heapSize = (): number => getHeapStatistics().total_heap_size;

/** By processor time: on a busy machine the clock goes on while this process waits for a core. */
function busyPartOfProcess(): () => number {
  let cpu = process.cpuUsage();
  let at = performance.now();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    const part = (user + system) / 1000 / (performance.now() - at);
    cpu = process.cpuUsage();
    at = performance.now();
    return part;
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

// The heap of the C library, where buffers, sockets and compression live.

let trim: (() => void) | undefined;

/**
 * Gives back to the system what is free in it. By itself the library gives back only its end, and one small piece that is
 * in use there keeps all before it. Does nothing where the library cannot do this, as musl, or koffi is not installed.
 */
function trimHeap(): void {
  trim ??= findTrim();
  trim();
}

function findTrim(): () => void {
  try {
    const mallocTrim = loadNative()?.func('int malloc_trim(size_t)');
    return () => void mallocTrim?.(0);
  } catch {
    return () => undefined;
  }
}
