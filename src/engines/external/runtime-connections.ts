/** Requests to one runtime over kept-alive connections, with their failures in words. */
import type * as Undici from 'undici';
import { messageOf, callerGone } from '../../lib/errors.ts';
import { GrowingBytes } from '../../lib/growing-bytes.ts';
import { NOT_CONNECTED, untilStopped } from '../../lib/until-stopped.ts';
import { DEPTH_HEADER } from '../call-headers.ts';

export interface RequestOptions {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
  /** Milliseconds. */
  readonly timeout: number;
  /** Bytes of the answer. */
  readonly limit: number;
  /** The setting behind `limit`, for messages. */
  readonly setting?: string;
  readonly signal?: AbortSignal;
  /** True once nobody waits for the answer: a request that still waits for a connection is not sent. */
  readonly isGone?: () => boolean;
}

export interface RuntimeAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

export type OnChunk = (chunk: Buffer, status: number) => void;

export interface ConnectionOptions {
  /** Once it is aborted, no connection is made or waited for. */
  readonly stopped: AbortSignal;
  /** It has begun to answer a request. */
  readonly onAnswer: () => void;
  readonly onDisconnect: () => void;
}

const CONNECT_TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 64;

export class RuntimeConnections {
  readonly #engine: string;
  readonly #options: ConnectionOptions;
  readonly #pools = new Map<string, Undici.Pool>();
  readonly #slots = new Map<string, ConnectionSlots>();

  constructor(engine: string, options: ConnectionOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Requests that wait for a connection. */
  get waiting(): number {
    return [...this.#slots.values()].reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** @throws RuntimeUnreachable; RuntimeSilent; AnswerTooLarge. */
  async request(url: string, options: RequestOptions): Promise<RuntimeAnswer> {
    const bytes = new GrowingBytes();
    const { status, contentType } = await this.stream(url, options, (chunk) => bytes.add(chunk));
    return { status, contentType, body: bytes.take() };
  }

  /** The same on a connection of its own, which ends with it: one that is kept would keep a single thread busy. */
  async requestApart(url: string, options: RequestOptions): Promise<RuntimeAnswer> {
    const undici = await loadClient();
    const over = new undici.Client(new URL(url).origin, { connect: connector(undici, this.#options.stopped) });
    const bytes = new GrowingBytes();
    try {
      const clock = AbortSignal.timeout(options.timeout);
      const answer = await this.#send(over, url, options, clock, (chunk) => bytes.add(chunk));
      return { ...answer, body: bytes.take() };
    } finally {
      void over.destroy();
    }
  }

  /** Gives the answer's bytes as they come. @throws as `request`. */
  async stream(url: string, options: RequestOptions, onChunk: OnChunk): Promise<Omit<RuntimeAnswer, 'body'>> {
    const clock = AbortSignal.timeout(options.timeout);
    const slots = this.#slotsOf(new URL(url).origin, isNested(options));
    await slots.take(options.isGone ?? isThere, clock).catch((thrown: unknown) => {
      throw clock.aborted ? this.silent(options.timeout, thrown) : thrown;
    });
    try {
      return await this.#send(undefined, url, options, clock, onChunk);
    } finally {
      slots.free();
    }
  }

  async #send(
    apart: Undici.Dispatcher | undefined,
    url: string,
    options: RequestOptions,
    clock: AbortSignal,
    onChunk: OnChunk,
  ): Promise<Omit<RuntimeAnswer, 'body'>> {
    const { method, body, headers, timeout, limit, setting = `${limit} bytes`, signal } = options;
    const target = new URL(url);
    try {
      const over = apart ?? (await this.#pool(target.origin, isNested(options)));
      const response = await over.request({
        path: target.pathname + target.search,
        method,
        ...(body === undefined ? {} : { body }),
        ...(headers === undefined ? {} : { headers }),
        headersTimeout: timeout + 1000,
        bodyTimeout: timeout + 1000,
        signal: signal === undefined ? clock : AbortSignal.any([clock, signal]),
      });
      this.#options.onAnswer();
      let size = 0;
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > limit) throw new AnswerTooLarge(`the answer is larger than the limit of ${setting}`);
        onChunk(chunk, response.statusCode);
      }
      return { status: response.statusCode, contentType: String(response.headers['content-type'] ?? '') };
    } catch (thrown) {
      if (clock.aborted) throw this.silent(timeout, thrown);
      if (thrown instanceof AnswerTooLarge || signal?.aborted === true) throw thrown;
      throw new RuntimeUnreachable(`the ${this.#engine} runtime ${toErrorMessage(thrown)}`, { cause: thrown });
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  /** Gives the error of a request that had no answer within `timeout` milliseconds. */
  silent(timeout: number, cause?: unknown): RuntimeSilent {
    const seconds = Number((timeout / 1000).toFixed(1));
    return new RuntimeSilent(`the ${this.#engine} runtime gave no answer within ${seconds} s`, { cause });
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
    const undici = await loadClient();
    const others = this.#pools.get(key);
    if (others !== undefined) return others;
    const pool = new undici.Pool(origin, {
      connections: MAX_CONNECTIONS,
      connect: connector(undici, this.#options.stopped),
      keepAliveTimeout: 30_000,
      pipelining: 1,
    });
    pool.on('disconnect', this.#options.onDisconnect);
    this.#pools.set(key, pool);
    return pool;
  }
}

/** Loaded on first use: a service without runtimes never needs it, and loading takes a fifth of a start. */
const loadClient = (): Promise<typeof Undici> => import('undici');

const connector = ({ buildConnector }: typeof Undici, stopped: AbortSignal): Undici.buildConnector.connector =>
  untilStopped(buildConnector({ timeout: CONNECT_TIMEOUT_MS }), stopped);

const keyOf = (origin: string, nested: boolean): string => (nested ? `${origin} nested` : origin);

const isThere = (): boolean => false;

export class RuntimeUnreachable extends Error {}
export class RuntimeSilent extends Error {}
export class AnswerTooLarge extends Error {}

const isNested = ({ headers }: RequestOptions): boolean => Number(headers?.[DEPTH_HEADER] ?? 0) > 0;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'does not listen at its address',
  [NOT_CONNECTED]: 'was not connected before the service stopped',
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
