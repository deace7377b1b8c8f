/** Pauses between attempts: each is twice as long as the one before, up to the longest. */
export class Backoff {
  readonly #firstMs: number;
  readonly #longestMs: number;
  #nextMs: number;

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
    this.#nextMs = firstMs;
  }

  /** Milliseconds until the next attempt. */
  next(): number {
    const pause = this.#nextMs;
    this.#nextMs = Math.min(this.#longestMs, pause * 2);
    return pause;
  }

  /** After a success: the next pause is the first again. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}
