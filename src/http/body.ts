/** Bodies arrive as bytes and are read by the route that knows what they should be. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type HeldBytes, noRoom } from '../execution/held-bytes.ts';
import {
  bodyNotReadable,
  bodyTooLarge,
  malformedRequest,
  requestTimedOut,
  unsupportedMediaType,
} from '../lib/errors.ts';
import { GrowingBytes } from '../lib/growing-bytes.ts';
import { isJson, mediaTypeOf } from '../lib/media-type.ts';
import { withoutMark } from '../lib/text.ts';
import { uptime } from '../lib/time.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by a route that reads the body as it comes. */
    isStreamed: boolean;
  }
}

export interface BodyLimits {
  readonly bytes: number;
  /** Milliseconds in which a body must have arrived. */
  readonly time: number;
}

export type OnBody = (error: Error | null, body?: Buffer) => void;

const POLL_MS = 500;
/** A look later than that means that this process stood still: what has come meanwhile has not been read yet. */
const LATE_MS = 250;

/**
 * Collects every body but an upload whole, within its limits. The server's own clock is set for uploads; one sweep
 * over what is on its way costs less than a timer for each request.
 */
export class Bodies implements Disposable {
  readonly #limits: BodyLimits;
  readonly #held: HeldBytes;
  readonly #arriving = new Set<ArrivingBody>();
  readonly #sweep: NodeJS.Timeout;

  constructor(limits: BodyLimits, held: HeldBytes) {
    this.#limits = limits;
    this.#held = held;
    let last = uptime();
    this.#sweep = setInterval(() => {
      const now = uptime();
      const isLate = now - last > POLL_MS + LATE_MS;
      last = now;
      if (isLate) return;
      const oldest = now - limits.time;
      for (const body of this.#arriving) if (body.since < oldest) body.timeOut();
    }, POLL_MS);
    this.#sweep.unref();
  }

  /** `done` is called once, with the body or with its error: unsupportedMediaType, bodyTooLarge, requestTimedOut, noRoom or malformedRequest. */
  collect(request: IncomingMessage, done: OnBody): void {
    const { headers } = request;
    if (Number(headers['content-length'] ?? 0) > this.#limits.bytes) done(tooLarge(this.#limits));
    else if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
      done(encoded(headers['content-encoding']));
    else this.#arriving.add(new ArrivingBody(request, this.#limits, this.#held, this.#arriving, done));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweep);
  }
}

/** Gives every route its body as bytes, but for what its route reads as it comes. */
export function installBodyParser(app: FastifyInstance, bodies: Bodies): void {
  app.decorateRequest('isStreamed', false);
  app.addHook('onClose', (_app, done) => {
    bodies[Symbol.dispose]();
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, _payload, done) => {
    if (request.isStreamed) done(null);
    else bodies.collect(request.raw, done);
  });
}

/** A body that is on its way. */
class ArrivingBody {
  readonly since = uptime();
  readonly #limits: BodyLimits;
  readonly #held: HeldBytes;
  readonly #all: Set<ArrivingBody>;
  readonly #done: OnBody;
  readonly #bytes = new GrowingBytes();
  #size = 0;
  /** There was no room for it: the rest is read, so that the client comes to read the answer. */
  #isRefused = false;

  constructor(payload: Readable, limits: BodyLimits, held: HeldBytes, all: Set<ArrivingBody>, done: OnBody) {
    this.#limits = limits;
    this.#held = held;
    this.#all = all;
    this.#done = done;
    payload.on('data', (chunk: Buffer) => this.#take(chunk));
    payload.on('end', () => this.#finish());
    // After the end this says nothing new.
    payload.on('close', () => this.#fail(brokeOff));
  }

  timeOut(): void {
    this.#fail(() =>
      requestTimedOut(`The body did not arrive within ${this.#limits.time / 1000} s (--request-timeout)`),
    );
  }

  #take(chunk: Buffer): void {
    if (!this.#all.has(this)) return;
    this.#size += chunk.length;
    if (this.#size > this.#limits.bytes) return this.#fail(() => tooLarge(this.#limits));
    if (this.#isRefused) return;
    const { held } = this.#bytes;
    this.#bytes.add(chunk);
    const grown = this.#bytes.held - held;
    if (grown === 0 || this.#held.grow(this.#size, grown)) return;
    this.#isRefused = true;
    this.#release(held);
  }

  #release(held = this.#bytes.held): void {
    this.#held.shrink(held);
    this.#bytes.clear();
  }

  #finish(): void {
    if (this.#isRefused) return this.#fail(noRoom);
    if (!this.#all.delete(this)) return;
    this.#held.shrink(this.#bytes.held);
    this.#done(null, this.#bytes.take());
  }

  #fail(error: () => Error): void {
    if (!this.#all.delete(this)) return;
    this.#release();
    this.#done(error());
  }
}

const brokeOff = (): Error => malformedRequest('The body broke off');

/** What is left of the body is not read, so the connection cannot serve another request. */
const tooLarge = ({ bytes }: BodyLimits): Error =>
  bodyTooLarge(`The body is larger than the limit of ${bytes} bytes (--max-body)`, {
    headers: { connection: 'close' },
  });

/** "415 … due to content coding … ought to be distinguished with Accept-Encoding" (RFC 9110). */
const encoded = (encoding: string): Error =>
  unsupportedMediaType(`A body with Content-Encoding ${encoding.slice(0, 100)} is not read here: send it as it is`, {
    headers: { 'accept-encoding': 'identity' },
  });

/** The body as text; a byte order mark is no part of it. @throws bodyNotReadable when it is not UTF-8. */
export function textBody(request: FastifyRequest): string {
  const body: unknown = request.body;
  if (!Buffer.isBuffer(body)) return '';
  if (!isUtf8(body)) throw bodyNotReadable('The request body is not valid UTF-8');
  return withoutMark(body.toString('utf8'));
}

/** @throws unsupportedMediaType unless the request's body is declared as JSON. */
export function requireJson(request: FastifyRequest): void {
  const type = mediaTypeOf(request.headers['content-type']);
  if (isJson(type)) return;
  throw unsupportedMediaType(
    `The body must be JSON: send Content-Type: application/json${type === '' ? '' : ` instead of ${type}`}`,
  );
}
