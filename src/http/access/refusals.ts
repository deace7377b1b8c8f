/**
 * Refused requests cost nobody anything to send, so they are counted and told together: at most once a minute for each
 * reason and address, after the answer, in bounded memory.
 */
import { uptime } from '../../lib/uptime.ts';

/** Between two summaries of one reason and address. */
const PERIOD_MS = 60_000;
/** Addresses and reasons that are told apart; the rest is counted as `others`. */
const MOST_APART = 64;
/** Between two summaries: writing them never takes the service from its requests for long. */
const PAUSE_MS = 50;
const LONGEST_ADDRESS = 64;
export const OTHERS = 'others';

/** Refusals of one reason and address since the last summary of them. */
export interface Refusals<T> {
  readonly reason: string;
  /** Or `others`. */
  readonly address: string;
  /** What the first of them was. */
  readonly first: T;
  readonly times: number;
}

interface Counted<T> {
  readonly reason: string;
  readonly address: string;
  first: T;
  times: number;
  /** When it may be told. */
  due: number;
}

/** How many summaries may be told: `most` at once, then one `every` so many milliseconds. */
export interface Allowance {
  readonly most: number;
  readonly every: number;
}

export interface RefusalCounterOptions<T> {
  readonly tell: (refusals: Refusals<T>) => void;
  readonly allowance?: Allowance;
  readonly now?: () => number;
}

export class RefusalCounter<T> implements Disposable {
  readonly #options: RefusalCounterOptions<T>;
  readonly #now: () => number;
  readonly #counted = new Map<string, Counted<T>>();
  #timer: NodeJS.Timeout | undefined;
  #allowed: number;
  #allowedAt: number;

  constructor(options: RefusalCounterOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? uptime;
    this.#allowed = options.allowance?.most ?? 0;
    this.#allowedAt = this.#now();
  }

  /** `from`: undefined where the connection has gone already. `first` is asked only where it is told. */
  add(reason: string, from: string | undefined, first: () => T): void {
    const address = (from ?? 'gone').slice(0, LONGEST_ADDRESS);
    const key = `${reason} ${address}`;
    const rest = `${reason} ${OTHERS}`;
    const known = this.#counted.get(key) ?? (this.#counted.size < MOST_APART ? undefined : this.#counted.get(rest));
    if (known !== undefined) {
      if (known.times === 0) known.first = first();
      known.times++;
    } else {
      const isApart = this.#counted.size < MOST_APART;
      const counted = { reason, address: isApart ? address : OTHERS, first: first(), times: 1, due: this.#now() };
      this.#counted.set(isApart ? key : rest, counted);
      // What others wait for is later.
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#timer ??= setTimeout(() => this.#tellNext(), PAUSE_MS).unref();
  }

  /** Tells what has not been told yet. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const counted of this.#counted.values()) this.#tell(counted);
    this.#counted.clear();
  }

  #tellNext(): void {
    const now = this.#now();
    for (const [key, { times, due }] of this.#counted) if (times === 0 && due <= now) this.#counted.delete(key);
    const all = [...this.#counted.values()].sort((a, b) => a.due - b.due);
    const next = all.find(({ times, due }) => times > 0 && due <= now);
    if (next !== undefined && this.#isAllowed(now)) {
      this.#tell(next);
      next.due = now + PERIOD_MS;
    }
    // What is due and not allowed yet is looked at once a period.
    const wait = next?.times === 0 ? PAUSE_MS : next === undefined ? (all[0]?.due ?? now) - now : PERIOD_MS;
    this.#timer = all.length === 0 ? undefined : setTimeout(() => this.#tellNext(), Math.max(PAUSE_MS, wait)).unref();
  }

  #tell(counted: Counted<T>): void {
    const { reason, address, first, times } = counted;
    counted.times = 0;
    if (times > 0) this.#options.tell({ reason, address, first, times });
  }

  #isAllowed(now: number): boolean {
    const { allowance } = this.#options;
    if (allowance === undefined) return true;
    this.#allowed = Math.min(allowance.most, this.#allowed + (now - this.#allowedAt) / allowance.every);
    this.#allowedAt = now;
    if (this.#allowed < 1) return false;
    this.#allowed--;
    return true;
  }
}
