/** One remote runtime: a server that runs endpoints of one engine. */
import type * as Undici from 'undici';
import { messageOf } from '../../lib/errors.ts';
import { GrowingBytes } from '../../lib/growing-bytes.ts';
import { withoutEndSlashes } from '../../lib/text.ts';
import { DEPTH_HEADER } from '../call-headers.ts';
import { uptime } from '../../lib/uptime.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { HeldEndpoints } from './held-endpoints.ts';
import { engineName } from '../table.ts';

/** What a runtime said of itself when it registered: at least its engine and url, and whatever else it sent. */
export interface Registration extends Readonly<Record<string, unknown>> {
  readonly engine: string;
  readonly url: string;
}

export interface RequestOptions {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
  /** Milliseconds. */
  readonly timeout: number;
  /** Bytes of the answer. */
  readonly limit: number;
  /** What a person may set for it, where that is less, or for one of many answers. */
  readonly setting?: string;
  readonly signal?: AbortSignal;
  /** True once nobody waits for the answer: what waits for a connection is not sent any more. */
  readonly isGone?: () => boolean;
  /** The connection; one that is kept alive when left out. */
  readonly over?: Undici.Dispatcher;
}

/** What a runtime says of itself. */
export type Info = Readonly<Record<string, unknown>>;

export interface RuntimeAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

const INFO_TIMEOUT_MS = 2000;
/** … and for one that is waited for, since it was there before. */
const LONG_TIMEOUT_MS = 60_000;
/** Milliseconds for which an answer to `GET /info` counts, for runtimes that close each connection. */
const CONFIRMED_FOR_MS = 2000;
const CONNECT_TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 64;
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
  /** … and of its last answer, to whatever request. */
  answered = 0;
  /** Is told when `up` changes. */
  onChange: () => void = () => undefined;
  /** Is told when it is lost, though it was there. */
  onLost: () => void = () => undefined;
  /** Lets go of an endpoint by `tell`, unless another activator needs it, or lets go of it. */
  deactivating: (id: string, tell: () => Promise<void>) => Promise<void> = (_, tell) => tell();
  /** It could not be reached at some time since its endpoints were last activated. */
  lost = false;
  /** It has been stopped for good. */
  closed = false;
  #up = true;
  readonly #pools = new Map<string, Undici.Pool>();
  readonly #slots = new Map<string, ConnectionSlots>();
  /** It was never asked, or a connection was lost: another program may have its port. */
  #doubtful = true;
  /** Milliseconds of `uptime()` at which it last said who it is. */
  #confirmed = 0;
  #asking: Promise<Info | undefined> | undefined;
  #waiting: Promise<Info | 'silent' | undefined> | undefined;
  readonly endpoints = new HeldEndpoints((id) => this.#deactivate(id));
  /** False when it said that it knows no deactivation. */
  #deactivates = true;

  constructor(registration: Registration, activator: string) {
    this.registration = registration;
    this.activator = activator;
    this.engine = engineName(registration.engine);
    this.url = withoutEndSlashes(registration.url);
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
    return [...this.#slots.values()].reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** Its endpoints are going to be activated; it may be on its way up. */
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
   * @throws RuntimeUnreachable; RuntimeSilent after `patience` milliseconds.
   */
  async confirm(patience: number): Promise<void> {
    if (!this.#doubtful || (this.up && uptime() - this.#confirmed < CONFIRMED_FOR_MS)) return;
    const said = await (this.#confirmed > 0 ? this.#inTime(patience) : this.info());
    if (said === undefined)
      throw new RuntimeUnreachable(`no ${this.engine} runtime answers at its address`, { cause: NOT_THERE });
  }

  async #inTime(patience: number): Promise<Info | undefined> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(this.#silent(patience)), patience);
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
  async request(url: string, options: RequestOptions): Promise<RuntimeAnswer> {
    const bytes = new GrowingBytes();
    const { status, contentType } = await this.stream(url, options, (chunk) => bytes.add(chunk));
    return { status, contentType, body: bytes.take() };
  }

  /** Gives the answer's bytes as they come. @throws as `request`. */
  async stream(
    url: string,
    options: RequestOptions,
    onChunk: (chunk: Buffer, status: number) => void,
  ): Promise<Omit<RuntimeAnswer, 'body'>> {
    const clock = AbortSignal.timeout(options.timeout);
    if (options.over !== undefined) return this.#send(url, options, clock, onChunk);
    const slots = this.#slotsOf(new URL(url).origin, isNested(options));
    await slots.take(options.isGone ?? isThere, clock).catch((thrown: unknown) => {
      throw clock.aborted ? this.#silent(options.timeout, thrown) : thrown;
    });
    try {
      return await this.#send(url, options, clock, onChunk);
    } finally {
      slots.free();
    }
  }

  async #send(
    url: string,
    options: RequestOptions,
    clock: AbortSignal,
    onChunk: (chunk: Buffer, status: number) => void,
  ): Promise<Omit<RuntimeAnswer, 'body'>> {
    const { method, body, headers, timeout, limit, setting = `${limit} bytes`, signal } = options;
    const target = new URL(url);
    try {
      const over = options.over ?? (await this.#pool(target.origin, isNested(options)));
      const response = await over.request({
        path: target.pathname + target.search,
        method,
        ...(body === undefined ? {} : { body }),
        ...(headers === undefined ? {} : { headers }),
        headersTimeout: timeout + 1000,
        bodyTimeout: timeout + 1000,
        signal: signal === undefined ? clock : AbortSignal.any([clock, signal]),
      });
      this.answered = uptime();
      let size = 0;
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > limit) throw new AnswerTooLarge(`the answer is larger than the limit of ${setting}`);
        onChunk(chunk, response.statusCode);
      }
      return { status: response.statusCode, contentType: String(response.headers['content-type'] ?? '') };
    } catch (thrown) {
      if (clock.aborted) throw this.#silent(timeout, thrown);
      if (thrown instanceof AnswerTooLarge || signal?.aborted === true) throw thrown;
      throw new RuntimeUnreachable(`the ${this.engine} runtime ${toErrorMessage(thrown)}`, { cause: thrown });
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  /** Tells it that an endpoint is needed no more, where it is there and knows how. Never rejects. */
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
    // On a connection of its own, which ends with the question: one that is kept would keep a single thread busy.
    const { Client } = await loadClient();
    const over = new Client(new URL(this.url).origin, { connect: { timeout: CONNECT_TIMEOUT_MS } });
    const said = await this.request(`${this.url}/info`, { method: 'GET', timeout, limit: MAX_INFO_BYTES, over }).then(
      (answer) => this.#itsOwn(answer),
      (thrown: unknown) => (thrown instanceof RuntimeSilent ? 'silent' : undefined),
    );
    void over.destroy();
    this.up = typeof said === 'object';
    this.#doubtful = !this.up;
    if (this.up) this.#confirmed = uptime();
    // One that has not come up yet is not lost, nor is one that is busy.
    else if (this.#confirmed > 0 && said !== 'silent') this.lose();
    return said;
  }

  #silent(timeout: number, cause?: unknown): RuntimeSilent {
    const seconds = Number((timeout / 1000).toFixed(1));
    return new RuntimeSilent(`the ${this.engine} runtime gave no answer within ${seconds} s`, { cause });
  }

  /** Some programs have a `/info` too, so it must name the engine, or at least say that it is up. */
  #itsOwn({ status, body }: RuntimeAnswer): Info | undefined {
    const info = objectOf(body);
    if (status !== 200 || info === undefined) return undefined;
    const { engine } = info;
    const own = typeof engine === 'string' ? engineName(engine) === this.engine : info['status'] === 'up';
    return own ? info : undefined;
  }

  #slotsOf(origin: string, nested: boolean): ConnectionSlots {
    const key = keyOf(origin, nested);
    const slots = this.#slots.get(key) ?? new ConnectionSlots(MAX_CONNECTIONS);
    this.#slots.set(key, slots);
    return slots;
  }

  /** Calls of one KO by another have connections of their own: those that wait for them hold the others. */
  async #pool(origin: string, nested: boolean): Promise<Undici.Pool> {
    const key = keyOf(origin, nested);
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    const { Pool } = await loadClient();
    const others = this.#pools.get(key);
    if (others !== undefined) return others;
    const pool = new Pool(origin, {
      connections: MAX_CONNECTIONS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      keepAliveTimeout: 30_000,
      pipelining: 1,
    });
    pool.on('disconnect', () => (this.#doubtful = true));
    this.#pools.set(key, pool);
    return pool;
  }
}

/** A service without runtimes never needs it, and its loading is a fifth of a start. */
const loadClient = (): Promise<typeof Undici> => import('undici');

const keyOf = (origin: string, nested: boolean): string => (nested ? `${origin} nested` : origin);

const isThere = (): boolean => false;

/** As if the connection had been refused: nothing was sent. */
const NOT_THERE = { code: 'ECONNREFUSED' };

export class RuntimeUnreachable extends Error {}
export class RuntimeSilent extends Error {}
export class AnswerTooLarge extends Error {}

function objectOf(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const isNested = ({ headers }: RequestOptions): boolean => Number(headers?.[DEPTH_HEADER] ?? 0) > 0;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'does not listen at its address',
  UND_ERR_CONNECT_TIMEOUT: 'accepts no connection',
  ECONNRESET: 'closed the connection before its answer was complete',
  EPIPE: 'closed the connection before its answer was complete',
  UND_ERR_SOCKET: 'closed the connection before its answer was complete',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'closed the connection before its answer was complete',
};

function toErrorMessage(thrown: unknown): string {
  const { code } = thrown as { code?: unknown };
  if (typeof code !== 'string') return `cannot be reached: ${messageOf(thrown)}`;
  return REASONS[code] ?? (code.startsWith('HPE_') ? 'gave an answer that is not HTTP' : `cannot be reached: ${code}`);
}
