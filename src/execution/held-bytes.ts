/**
 * What the service holds of large bodies and answers: of requests that arrive or wait, and of clients that do not
 * read. Each is bounded by a limit of its own; this bounds all of them together. Small ones always find room, so
 * that nobody can keep others out by holding on to large ones.
 */
import type { Writable } from 'node:stream';
import { overloaded } from '../lib/errors.ts';

const SMALL_BYTES = 64 * 1024;

export class HeldBytes {
  readonly #most: number;
  #held = 0;

  /** `most`: bytes. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes that are held. */
  get held(): number {
    return this.#held;
  }

  /** Holds bytes until the response has been sent, or its connection is gone. @throws noRoom. */
  until(response: Pick<Writable, 'closed' | 'once'>, bytes: number): void {
    // Whoever has gone already is not told again.
    if (response.closed) return;
    const held = this.hold(bytes);
    if (held > 0) response.once('close', () => this.shrink(held));
  }

  /** Holds bytes, where they are many. @returns what to let go with `shrink`. @throws noRoom. */
  hold(bytes: number): number {
    if (bytes <= SMALL_BYTES) return 0;
    if (!this.grow(bytes, bytes)) throw noRoom();
    return bytes;
  }

  /** True where something of that size may be taken on. */
  hasRoom(bytes: number): boolean {
    return bytes <= SMALL_BYTES || this.#held + bytes <= this.#most;
  }

  /** Holds more memory for what has `size` bytes now; false when there is no room. */
  grow(size: number, by: number): boolean {
    if (size > SMALL_BYTES && this.#held + by > this.#most) return false;
    this.#held += by;
    return true;
  }

  shrink(bytes: number): void {
    this.#held -= bytes;
  }
}

export const noRoom = (): Error =>
  overloaded('The service holds as many large bodies and answers as it may (--max-held); try again later', 5);
