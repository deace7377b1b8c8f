/** The body of a batch, which can be left while its connection stays open for the rest of the answer. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { bodyNotReadable, messageOf, unsupportedMediaType } from '../../../lib/errors.ts';

const GIGABYTE = 1024 ** 3;
const MEGABYTE = 1024 ** 2;
/** Bytes that may come without a record among them; of a compressed body they cost its sender nothing. */
const MOST_IN_VAIN = GIGABYTE;
const MOST_IN_VAIN_COMPRESSED = 64 * MEGABYTE;

export class BatchSource {
  readonly mostInVain: number;
  readonly #request: IncomingMessage;
  readonly #stream: Readable;
  #problem: Error | undefined;
  #hasEnded = false;
  #wake: () => void = () => undefined;

  /** @throws unsupportedMediaType for an encoding that is not read here. */
  constructor(request: IncomingMessage) {
    const isCompressed = isGzip(request);
    this.mostInVain = isCompressed ? MOST_IN_VAIN_COMPRESSED : MOST_IN_VAIN;
    this.#request = request;
    this.#stream = isCompressed ? this.#inflated(request) : request;
    const look = (): void => this.#wake();
    this.#stream.on('readable', look);
    this.#stream.on('end', () => {
      this.#hasEnded = true;
      look();
    });
    this.#stream.on('error', (error) => this.stop(error));
    this.#stream.on('close', () => this.stop(new Error('the connection was closed')));
  }

  /** From now on it gives nothing more, but fails with this. */
  stop(problem: Error): void {
    this.#problem ??= problem;
    this.#wake();
  }

  /** Throws away what still comes. */
  discard(): void {
    this.#stream.removeAllListeners('readable');
    this.#stream.resume();
    this.#request.resume();
  }

  /** @throws what it was stopped with; bodyNotReadable. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      if (!this.#hasEnded && this.#problem !== undefined) throw this.#problem;
      const chunk = this.#stream.read() as Buffer | null;
      if (chunk !== null) yield chunk;
      else if (this.#hasEnded) return;
      else await this.#next();
    }
  }

  #next(): Promise<void> {
    if (this.#hasEnded || this.#problem !== undefined) return Promise.resolve();
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #inflated(request: IncomingMessage): Readable {
    const gunzip = createGunzip();
    request.on('error', (error) => this.stop(error));
    request.on('close', () => {
      if (!request.complete) this.stop(new Error('the connection was closed'));
    });
    gunzip.on('error', (error) => this.stop(bodyNotReadable(`The body is not valid gzip: ${messageOf(error)}`)));
    // Not a pipeline, which would close the connection together with what inflates.
    return request.pipe(gunzip);
  }
}

/** @throws unsupportedMediaType. */
function isGzip({ headers }: IncomingMessage): boolean {
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity') return false;
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  throw unsupportedMediaType(
    `A batch with Content-Encoding ${encoding.slice(0, 100)} is not read here: send it as it is, or with gzip`,
    { headers: { 'accept-encoding': 'gzip, identity' } },
  );
}
