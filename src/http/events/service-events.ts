/**
 * What happens in the service, for those who look at it now. While nobody does, nothing is done: no timer runs, and no
 * database is asked.
 */
import { messageOf } from '../../lib/errors.ts';
import { uptime } from '../../lib/uptime.ts';
import type { AuditFollower, AuditStore, KeptAuditRecord } from '../../shelf/audit/audit-store.ts';
import { lineOf, Listener, Listeners } from './listeners.ts';
import type { ServiceEvent } from './listeners.ts';
import type { ServiceState } from './service-state.ts';

export interface ServiceEventsOptions {
  readonly state: Pick<ServiceState, 'token' | 'read'>;
  readonly audit: AuditStore | undefined;
  /** Where the audit or the state cannot be read. */
  readonly onProblem: (cause: string) => void;
}

/** Milliseconds between two looks at what changed, … */
const LOOK_MS = 1000;
/** … after which the state is told though nothing did, … */
const STATE_MS = 5000;
/** … and after which the connection is shown to be alive. */
const SILENCE_MS = 15_000;
/** Records that a listener is given who was away. */
const MOST_MISSED = 1000;

export class ServiceEvents implements Disposable {
  readonly #options: ServiceEventsOptions;
  readonly #listeners = new Listeners(
    () => this.#wake(),
    () => this.#rest(),
  );
  #timer: NodeJS.Timeout | undefined;
  #follower: Promise<AuditFollower> | undefined;
  #isFollowing = false;
  #told: { readonly token: string; readonly at: number; readonly line: Buffer } | undefined;
  #problem = '';

  constructor(options: ServiceEventsOptions) {
    this.#options = options;
  }

  get listeners(): number {
    return this.#listeners.count;
  }

  /** `after`: the id of the last audit record that is known there. */
  listen(after: number | undefined): Listener {
    const listener = new Listener();
    this.#listeners.add(listener);
    void this.#begin(listener, after);
    return listener;
  }

  tell(event: ServiceEvent): void {
    this.#listeners.tell(event);
  }

  /** No more comes. */
  [Symbol.dispose](): void {
    this.#listeners.end();
    this.#rest();
  }

  /** It is told the state, and what it missed; what comes meanwhile waits. */
  async #begin(listener: Listener, after: number | undefined): Promise<void> {
    const present = await this.#tellState(LOOK_MS);
    try {
      const missed = after === undefined ? [] : await this.#newerThan(after);
      const lines = missed.map((record) => lineOf({ type: 'audit', record }));
      listener.begin(present === undefined ? lines : [present, ...lines], missed.at(-1)?.id ?? 0);
    } catch (thrown) {
      this.#tellProblem(thrown);
      // Its client asks again, and misses nothing.
      listener.begin([], 0);
      listener.end();
    }
  }

  async #newerThan(id: number): Promise<readonly KeptAuditRecord[]> {
    // From where it follows on, nothing is missed.
    await this.#follower;
    const page = await this.#options.audit?.read({ limit: MOST_MISSED, newerThan: id });
    return page?.records.toReversed() ?? [];
  }

  #wake(): void {
    this.#follower = this.#fromNow();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
    void this.#follow();
  }

  #fromNow(): Promise<AuditFollower> | undefined {
    const following = this.#options.audit?.follow();
    // Whoever waits for it hears of it.
    following?.catch(() => undefined);
    return following;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#follower = undefined;
    this.#told = undefined;
  }

  #look(): void {
    if (this.#listeners.silence >= SILENCE_MS) this.tell({ type: 'alive' });
    void this.#follow();
    void this.#tellState(STATE_MS);
  }

  /** One question at a time, however long it takes. */
  async #follow(): Promise<void> {
    const following = this.#follower;
    if (following === undefined || this.#isFollowing) return;
    this.#isFollowing = true;
    let follower: AuditFollower | undefined;
    try {
      follower = await following;
      for (const record of await follower.next())
        this.#listeners.tellLine(lineOf({ type: 'audit', record }), record.id);
    } catch (thrown) {
      this.#tellProblem(thrown);
      // It is not known from where to follow.
      if (follower === undefined && this.#follower === following) this.#follower = this.#fromNow();
    } finally {
      this.#isFollowing = false;
    }
  }

  /** Tells all of them where it changed, or was told longer ago than that; else gives what was told. */
  async #tellState(age: number): Promise<Buffer | undefined> {
    const { state } = this.#options;
    try {
      const token = await state.token();
      const told = this.#told;
      if (told?.token === token && uptime() - told.at < age) return told.line;
      const line = lineOf(await state.read());
      // Those who came together have it from each other.
      if (this.#told !== told) return undefined;
      if (this.#timer !== undefined) this.#told = { token, at: uptime(), line };
      this.#listeners.tellLine(line);
    } catch (thrown) {
      this.#tellProblem(thrown);
    }
    return undefined;
  }

  /** Once, as long as it is the same. */
  #tellProblem(thrown: unknown): void {
    const cause = messageOf(thrown);
    if (cause !== this.#problem) this.#options.onProblem(cause);
    this.#problem = cause;
  }
}
