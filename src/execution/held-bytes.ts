/**
 * What the service holds of bodies and answers: of requests that arrive or wait, and of clients that do not read. Each is
 * bounded by a limit of its own; this bounds all of them together. Large ones leave room for small ones, so that nobody can
 * keep others out by holding on to large ones.
 */
import type { Writable } from 'node:stream';
import { overloaded } from '../lib/errors.ts';

const SMALL_BYTES = 64 * 1024;
/** The part of all that large ones leave to small ones. */
const FOR_SMALL = 1 / 8;

export class HeldBytes {
  readonly #most: number;
  readonly #mostOfLarge: number;
  #held = 0;

  /** `most`: bytes. */
  constructor(most: number) {
    this.#most = most;
    this.#mostOfLarge = most * (1 - FOR_SMALL);
  }

  /** Bytes that are held. */
  get held(): number {
    return this.#held;
  }

  /** Holds the bytes of a large answer until it has been sent, or its connection is gone. @throws noRoom. */
  until(response: Pick<Writable, 'closed' | 'once'>, bytes: number): void {
    // Whoever has gone already is not told again.
    if (bytes <= SMALL_BYTES || response.closed) return;
    this.hold(bytes);
    response.once('close', () => this.shrink(bytes));
  }

  /** The same for a small one that was just written. Nearly all have been sent by then, and cost nothing. */
  untilSent(response: Pick<Writable, 'closed' | 'once' | 'writableLength'>, bytes: number): void {
    if (bytes > SMALL_BYTES || response.writableLength === 0 || response.closed) return;
    this.add(bytes);
    response.once('close', () => this.shrink(bytes));
  }

  /** Holds bytes. @returns what to let go with `shrink`. @throws noRoom. */
  hold(bytes: number): number {
    if (!this.grow(bytes, bytes)) throw noRoom();
    return bytes;
  }

  /** True where something of that size may be taken on. */
  hasRoom(bytes: number): boolean {
    return this.#held + bytes <= (bytes > SMALL_BYTES ? this.#mostOfLarge : this.#most);
  }

  /** Holds more memory for what has `size` bytes now; false when there is no room. */
  grow(size: number, by: number): boolean {
    if (this.#held + by > (size > SMALL_BYTES ? this.#mostOfLarge : this.#most)) return false;
    this.#held += by;
    return true;
  }

  /** Holds what is there already, even where it is more than there should be. */
  add(bytes: number): void {
    this.#held += bytes;
  }

  shrink(bytes: number): void {
    this.#held -= bytes;
  }
}

export const noRoom = (): Error =>
  overloaded('The service holds as many bodies and answers as it may (--max-held); try again later', 5);
