/**
 * Failed tries slow the pair of account and address: the same account goes on at other addresses, and others go on at the
 * same address. What is tried during a pause is not looked at, and does not make it longer.
 */
import { uptime } from '../lib/time.ts';

/** Wrong passwords of a person, or of programs that still have the one before. */
const FREE = 50;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
/** Without a further try, a pair is forgotten after so long. */
const FORGOTTEN_MS = 15 * 60_000;
/** Pairs that are remembered: the ones that were tried the longest ago go first. */
const MOST_PAIRS = 10_000;

interface Tried {
  failed: number;
  /** Until when nothing is looked at, by `uptime()`. */
  until: number;
  at: number;
}

export class Tries {
  readonly #pairs = new Map<string, Tried>();
  readonly #now: () => number;

  constructor(now: () => number = uptime) {
    this.#now = now;
  }

  /** Milliseconds until it may be tried again; 0: now. */
  pause(account: string, address: string): number {
    const tried = this.#of(account, address);
    return tried === undefined ? 0 : Math.max(0, tried.until - this.#now());
  }

  failed(account: string, address: string): void {
    const now = this.#now();
    const tried = this.#of(account, address) ?? { failed: 0, until: 0, at: now };
    tried.failed++;
    tried.at = now;
    const beyond = tried.failed - FREE;
    if (beyond >= 0) tried.until = now + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(beyond, 16));
    const key = keyOf(account, address);
    this.#pairs.delete(key);
    this.#pairs.set(key, tried);
    const [oldest] = this.#pairs.size > MOST_PAIRS ? this.#pairs.keys() : [];
    if (oldest !== undefined) this.#pairs.delete(oldest);
  }

  succeeded(account: string, address: string): void {
    this.#pairs.delete(keyOf(account, address));
  }

  #of(account: string, address: string): Tried | undefined {
    const tried = this.#pairs.get(keyOf(account, address));
    return tried !== undefined && this.#now() - tried.at < FORGOTTEN_MS ? tried : undefined;
  }
}

/** Names may be long, and are the sender's to choose. */
const keyOf = (account: string, address: string): string => `${address} ${account.slice(0, 200)}`;
