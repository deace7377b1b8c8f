/** Endpoints that could not be activated: tells of each, and knows which are tried again. */
import type { Logger } from 'pino';
import { type KoId, koKey } from '../knowledge-object/id.ts';
import { Backoff } from '../lib/backoff.ts';
import { FairQueue } from '../lib/fair-queue.ts';
import type { LoadFailure } from './endpoint-set.ts';
import type { Endpoint } from './endpoint.ts';

/** Hears of each activation that was tried, with the milliseconds that it took. */
export type ActivationObserver = (endpoint: Endpoint, milliseconds: number) => void;

/** An endpoint that cannot be activated, or a knowledge object of which none can be loaded. */
export interface FailedActivation {
  readonly id: KoId;
  /** Path of the endpoint. */
  readonly endpoint?: string;
  readonly engine?: string;
  readonly reason: string;
}

export interface FailedEndpointsOptions {
  readonly log: Logger;
  readonly observe?: ActivationObserver | undefined;
  readonly onFailed?: ((failed: FailedActivation) => void) | undefined;
  /** Hears of each that has listed the functions of a library. */
  readonly onListed: (endpoint: Endpoint) => void;
}

export class FailedEndpoints implements Disposable {
  readonly #options: FailedEndpointsOptions;
  readonly #later = new LaterAttempts((endpoint) => this.#triedAgain(endpoint));
  /** Those of which something could not be read at that moment. */
  readonly unread = new Set<Endpoint>();

  constructor(options: FailedEndpointsOptions) {
    this.#options = options;
  }

  /** Those that are tried again by themselves, each with the time. */
  get triedAgain(): readonly Endpoint[] {
    return this.#later.endpoints;
  }

  /** An endpoint was activated, or could not be; `milliseconds`: what that took, where it was tried. */
  decided(endpoint: Endpoint, milliseconds: number | undefined): void {
    if (endpoint.transient) this.unread.add(endpoint);
    this.#later.add(endpoint);
    this.#tell(endpoint);
    if (endpoint.hasListed) this.#options.onListed(endpoint);
    else if (milliseconds !== undefined) this.#options.observe?.(endpoint, milliseconds);
  }

  /** A knowledge object of which no endpoint could be loaded. */
  unloaded({ id, cause }: LoadFailure): void {
    const facts = { event: 'activation-failed', ko: koKey(id), reason: cause };
    this.#options.log.warn(facts, `${koKey(id)} does not run: ${cause}`);
    this.#options.onFailed?.({ id, reason: cause });
  }

  /** Another one has its place, or none. */
  remove(endpoint: Endpoint): void {
    this.unread.delete(endpoint);
    this.#later.remove(endpoint);
  }

  [Symbol.dispose](): void {
    this.#later[Symbol.dispose]();
  }

  #triedAgain(endpoint: Endpoint): void {
    if (endpoint.hasListed) return this.#options.onListed(endpoint);
    this.#tell(endpoint);
    if (endpoint.status === 'ACTIVATED')
      this.#options.log.info(factsOf(endpoint, 'activated-later'), `${endpoint.id} is active now`);
    this.#options.observe?.(endpoint, endpoint.activatingMs ?? 0);
  }

  #tell(endpoint: Endpoint): void {
    if (endpoint.status !== 'FAILED_TO_ACTIVATE' || endpoint.isDisposed) return;
    const { id, ko, name, entry, detail: reason = '', triedAgainAt } = endpoint;
    const again = triedAgainAt === undefined ? {} : { triedAgainAt: new Date(triedAgainAt).toISOString() };
    this.#options.log.warn(
      { ...factsOf(endpoint, 'activation-failed'), reason, ...again },
      `${id} does not run: ${reason}`,
    );
    this.#options.onFailed?.({ id: ko.id, endpoint: name, engine: entry.engine, reason });
  }
}

const factsOf = ({ id, ko, entry, status }: Endpoint, event: string): Record<string, string> => ({
  event,
  ko: ko.key,
  endpoint: id,
  engine: entry.engine,
  status,
  digest: `sha256:${ko.entry.digest}`,
});

// Activates again what failed for a reason that says nothing about the knowledge object, such as a package registry that
// is away: after growing pauses, a few knowledge objects at a time, and soon once another one of the same engine could.

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
