/** One external runtime: a server that runs endpoints of one engine. */
import { withoutEndSlashes } from '../../lib/text.ts';
import { uptime } from '../../lib/time.ts';
import { engineName } from '../table.ts';
import { objectOf } from './answers.ts';
import {
  type OnChunk,
  type RequestOptions,
  type RuntimeAnswer,
  RuntimeConnections,
  RuntimeSilent,
  RuntimeUnreachable,
} from './runtime-connections.ts';

/** What a runtime said of itself when it registered: at least its engine and url, and whatever else it sent. */
export interface Registration extends Readonly<Record<string, unknown>> {
  readonly engine: string;
  readonly url: string;
}

/** What a runtime says of itself. */
export type Info = Readonly<Record<string, unknown>>;

const INFO_TIMEOUT_MS = 2000;
/** Limit for a runtime that was there before, which is waited for. */
const LONG_TIMEOUT_MS = 60_000;
/** Milliseconds for which an answer to `GET /info` counts, for runtimes that close each connection. */
const CONFIRMED_FOR_MS = 2000;
const MAX_INFO_BYTES = 256 * 1024;
/** Milliseconds for `DELETE {runtime}/endpoints/{id}`, and the bytes of its answer. */
const DEACTIVATION_TIMEOUT_MS = 10_000;
const MAX_DEACTIVATION_BYTES = 64 * 1024;

export class Runtime {
  readonly engine: string;
  readonly url: string;
  registration: Registration;
  /** Under which it reaches this service, without a slash at its end. */
  activator: string;
  /** Milliseconds of `uptime()` of its last registration. */
  seen = uptime();
  /** Milliseconds of `uptime()` of its last answer to any request. */
  answered = 0;
  /** Called when `up` changes. */
  onChange: () => void = () => undefined;
  /** Called when it is lost. */
  onLost: () => void = () => undefined;
  /** Deactivates an endpoint by `tell`, unless another activator needs it or deactivates it. */
  deactivating: (id: string, tell: () => Promise<void>) => Promise<void> = (_, tell) => tell();
  /** It could not be reached at some time since its endpoints were last activated. */
  lost = false;
  /** It has been stopped for good. */
  closed = false;
  #up = true;
  readonly #connections: RuntimeConnections;
  /** It was never asked, or a connection was lost: another program may have its port. */
  #doubtful = true;
  /** Milliseconds of `uptime()` at which it last said who it is. */
  #confirmed = 0;
  #asking: Promise<Info | undefined> | undefined;
  #waiting: Promise<Info | 'silent' | undefined> | undefined;
  readonly endpoints = new HeldEndpoints((id) => this.#deactivate(id));
  /** False when it said that it knows no deactivation. */
  #deactivates = true;

  constructor(registration: Registration, activator: string, stopped: AbortSignal) {
    this.registration = registration;
    this.activator = activator;
    this.engine = engineName(registration.engine);
    this.url = withoutEndSlashes(registration.url);
    this.#connections = new RuntimeConnections(this.engine, {
      stopped,
      onAnswer: () => (this.answered = uptime()),
      onDisconnect: () => (this.#doubtful = true),
    });
  }

  /** False while it cannot be reached; it is asked again at its next registration. */
  get up(): boolean {
    return this.#up;
  }

  set up(up: boolean) {
    if (up === this.#up) return;
    this.#up = up;
    this.onChange();
  }

  /** Requests that wait for a connection. */
  get waiting(): number {
    return this.#connections.waiting;
  }

  /** Prepares for the activation of its endpoints: it counts as up until it is asked. */
  expect(): void {
    this.up = true;
    this.lost = false;
    this.#doubtful = true;
    this.#confirmed = 0;
    this.#deactivates = true;
  }

  lose(): void {
    this.up = false;
    if (!this.lost) this.onLost();
    this.lost = true;
  }

  /** What it says of itself: "`GET /info` decides whether a runtime is up". Undefined when it is not there, or no longer it. */
  info(): Promise<Info | undefined> {
    this.#asking ??= this.#ask(INFO_TIMEOUT_MS)
      .then((said) => (said === 'silent' ? undefined : said))
      .finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  /**
   * To be awaited before a request: where another program may have its port, it is asked who it is. One that was there
   * before "may be single-threaded", and at a call: it is waited for as long as the caller waits.
   * @throws RuntimeUnreachable; RuntimeSilent after `timeout` milliseconds.
   */
  async confirm(timeout: number): Promise<void> {
    if (!this.#doubtful || (this.up && uptime() - this.#confirmed < CONFIRMED_FOR_MS)) return;
    const said = await (this.#confirmed > 0 ? this.#inTime(timeout) : this.info());
    if (said === undefined)
      throw new RuntimeUnreachable(`no ${this.engine} runtime answers at its address`, { cause: NOT_THERE });
  }

  async #inTime(timeout: number): Promise<Info | undefined> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(this.#connections.silent(timeout)), timeout);
    try {
      for (;;) {
        this.#waiting ??= this.#ask(LONG_TIMEOUT_MS).finally(() => (this.#waiting = undefined));
        const said = await Promise.race([this.#waiting, late]);
        if (said !== 'silent') return said;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** @throws RuntimeUnreachable; RuntimeSilent; AnswerTooLarge. */
  request(url: string, options: RequestOptions): Promise<RuntimeAnswer> {
    return this.#connections.request(url, options);
  }

  /** Gives the answer's bytes as they come. @throws as `request`. */
  stream(url: string, options: RequestOptions, onChunk: OnChunk): Promise<Omit<RuntimeAnswer, 'body'>> {
    return this.#connections.stream(url, options, onChunk);
  }

  close(): Promise<void> {
    this.closed = true;
    return this.#connections.close();
  }

  /** Deactivates an endpoint there, if it is up and supports that. Never rejects. */
  async #deactivate(id: string): Promise<void> {
    if (this.closed || !this.up || !this.#deactivates) return;
    await this.deactivating(id, () => this.#tellDeactivated(id));
  }

  async #tellDeactivated(id: string): Promise<void> {
    const options = { method: 'DELETE', timeout: DEACTIVATION_TIMEOUT_MS, limit: MAX_DEACTIVATION_BYTES } as const;
    const status = await this.request(`${this.url}/endpoints/${id}`, options).then(
      (answer) => answer.status,
      () => undefined,
    );
    if (status === 404 || status === 405 || status === 501) this.#deactivates = false;
  }

  async #ask(timeout: number): Promise<Info | 'silent' | undefined> {
    const question = { method: 'GET', timeout, limit: MAX_INFO_BYTES } as const;
    const said = await this.#connections.requestApart(`${this.url}/info`, question).then(
      (answer) => this.#itsOwn(answer),
      (thrown: unknown) => (thrown instanceof RuntimeSilent ? 'silent' : undefined),
    );
    this.up = typeof said === 'object';
    this.#doubtful = !this.up;
    if (this.up) this.#confirmed = uptime();
    // A runtime that never was up, or is busy, is not lost.
    else if (this.#confirmed > 0 && said !== 'silent') this.lose();
    return said;
  }

  /** Some programs have a `/info` too, so it must name the engine, or at least say that it is up. */
  #itsOwn({ status, body }: RuntimeAnswer): Info | undefined {
    const info = objectOf(body);
    if (status !== 200 || info === undefined) return undefined;
    const { engine } = info;
    const own = typeof engine === 'string' ? engineName(engine) === this.engine : info['status'] === 'up';
    return own ? info : undefined;
  }
}

/** The cause of a refused connection: nothing was sent. */
const NOT_THERE = { code: 'ECONNREFUSED' };

export class HeldEndpoints {
  /** How many of each id are active there, or are being activated. */
  readonly #counts = new Map<string, number>();
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #deactivate: (id: string) => Promise<unknown>;

  /** `deactivate` never rejects: what stays active there costs memory, and nothing else. */
  constructor(deactivate: (id: string) => Promise<unknown>) {
    this.#deactivate = deactivate;
  }

  /** One is going to be activated there. Resolves when an earlier one of that id is not being deactivated any more. */
  async hold(id: string): Promise<void> {
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    await this.#leaving.get(id);
  }

  /** The counterpart of `hold`: the last one deactivates it. */
  release(id: string): void {
    const others = (this.#counts.get(id) ?? 1) - 1;
    if (others > 0) {
      this.#counts.set(id, others);
      return;
    }
    this.#counts.delete(id);
    const leaving = this.#deactivate(id).finally(() => this.#leaving.delete(id));
    this.#leaving.set(id, leaving);
  }
}
