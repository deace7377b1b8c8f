/**
 * Activates again what failed for a reason that says nothing about the knowledge object, such as a package registry that
 * is away: after growing pauses, a few knowledge objects at a time, and soon once another one of the same engine could.
 */
import { Backoff } from '../lib/backoff.ts';
import { FairQueue } from '../lib/fair-queue.ts';
import type { Endpoint } from './endpoint.ts';

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;
/** Part of a pause by which it is longer or shorter, so that many that failed together do not come back together. */
const JITTER = 0.2;
/** Knowledge objects at the same time. */
const AT_ONCE = 2;

interface Attempts {
  readonly endpoints: Set<Endpoint>;
  readonly backoff: Backoff;
  timer: NodeJS.Timeout | undefined;
}

export class LaterAttempts implements Disposable {
  readonly #onTried: (endpoint: Endpoint) => void;
  readonly #random: () => number;
  /** By knowledge object and engine. */
  readonly #attempts = new Map<string, Attempts>();
  readonly #turns = new FairQueue({ limit: AT_ONCE });
  #isDisposed = false;

  /** `onTried`: hears of each attempt. */
  constructor(onTried: (endpoint: Endpoint) => void, random: () => number = Math.random) {
    this.#onTried = onTried;
    this.#random = random;
  }

  /** Those that are tried again. */
  get endpoints(): readonly Endpoint[] {
    return [...this.#attempts.values()].flatMap(({ endpoints }) => [...endpoints]).filter(({ mayPass }) => mayPass);
  }

  /** Tries it again, where its failure may pass. */
  add(endpoint: Endpoint): void {
    if (!endpoint.mayPass || this.#isDisposed) return;
    const key = keyOf(endpoint);
    let attempts = this.#attempts.get(key);
    if (attempts === undefined) {
      const backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
      this.#attempts.set(key, (attempts = { endpoints: new Set(), backoff, timer: undefined }));
    }
    attempts.endpoints.add(endpoint);
    if (attempts.timer === undefined) this.#plan(key, attempts);
    else endpoint.triedAgainAt = firstOf(attempts.endpoints)?.triedAgainAt;
  }

  /** Another endpoint has its place, or none. */
  remove(endpoint: Endpoint): void {
    const key = keyOf(endpoint);
    const attempts = this.#attempts.get(key);
    if (attempts?.endpoints.delete(endpoint) === true && attempts.endpoints.size === 0) this.#forget(key, attempts);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    for (const [key, attempts] of this.#attempts) this.#forget(key, attempts);
  }

  #plan(key: string, attempts: Attempts, pause = attempts.backoff.next()): void {
    const wait = Math.round(pause * (1 + JITTER * (2 * this.#random() - 1)));
    clearTimeout(attempts.timer);
    for (const each of attempts.endpoints) each.triedAgainAt = Date.now() + wait;
    attempts.timer = setTimeout(() => void this.#turns.run('', () => this.#attempt(key, attempts)), wait).unref();
  }

  async #attempt(key: string, attempts: Attempts): Promise<void> {
    const tried = [...attempts.endpoints];
    await Promise.all(tried.map((each) => each.tryAgain()));
    if (this.#attempts.get(key) !== attempts) return;
    const present = tried.filter((each) => attempts.endpoints.has(each));
    for (const each of present) {
      each.triedAgainAt = undefined;
      if (!each.mayPass) attempts.endpoints.delete(each);
    }
    if (attempts.endpoints.size > 0) this.#plan(key, attempts);
    else this.#forget(key, attempts);
    present.forEach(this.#onTried);
    const active = tried.find(({ status }) => status === 'ACTIVATED');
    if (active !== undefined) this.#bringForward(active.entry.engine);
  }

  /** What the engine needed is there again: those that wait long are tried soon. */
  #bringForward(engine: string): void {
    for (const [key, attempts] of this.#attempts) {
      const first = firstOf(attempts.endpoints);
      if (first?.entry.engine !== engine || (first.triedAgainAt ?? 0) <= Date.now() + FIRST_PAUSE_MS) continue;
      attempts.backoff.reset();
      this.#plan(key, attempts);
    }
  }

  #forget(key: string, attempts: Attempts): void {
    clearTimeout(attempts.timer);
    this.#attempts.delete(key);
  }
}

const keyOf = ({ ko, entry }: Endpoint): string => `${ko.key} ${entry.engine}`;
const firstOf = (endpoints: ReadonlySet<Endpoint>): Endpoint | undefined => [...endpoints][0];
