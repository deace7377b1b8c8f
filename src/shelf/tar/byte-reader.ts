/** Takes bytes from a source in the portions that are asked for, and holds no more than one chunk of it. */
export class ByteReader implements AsyncDisposable {
  readonly #source: AsyncIterator<Buffer>;
  #chunk: Buffer = NOTHING;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** So many bytes. @throws what `cut` gives where there are fewer. */
  async exactly(count: number, cut: () => Error): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = count; left > 0;) {
      const part = await this.upTo(left);
      if (part.length === 0) throw cut();
      left -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);
  }

  /** Lets go of the source, also before its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.return?.();
  }

  /** Some bytes; none at the end. */
  async upTo(count: number): Promise<Buffer> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next();
      if (next.done === true) return NOTHING;
      this.#chunk = next.value;
    }
    const part = this.#chunk.subarray(0, count);
    this.#chunk = this.#chunk.subarray(part.length);
    return part;
  }
}

const NOTHING = Buffer.alloc(0);
