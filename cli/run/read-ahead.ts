/** Reads a source before anybody asks for it, up to a bound. */
export class ReadAhead<T> {
  readonly #ready: T[] = [];
  readonly #most: number;
  readonly #sizeOf: (item: T) => number;
  #size = 0;
  #isDone = false;
  #isOver = false;
  #failure: { readonly thrown: unknown } | undefined;
  #changed: (() => void)[] = [];

  constructor(source: AsyncIterable<T>, most: number, sizeOf: (item: T) => number) {
    this.#most = most;
    this.#sizeOf = sizeOf;
    void this.#pump(source);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        const item = this.#ready.shift();
        if (item !== undefined) {
          this.#size -= this.#sizeOf(item);
          this.#tell();
          yield item;
        } else if (this.#failure !== undefined) throw this.#failure.thrown;
        else if (this.#isDone) return;
        else await this.#change();
      }
    } finally {
      this.#isOver = true;
      this.#tell();
    }
  }

  async #pump(source: AsyncIterable<T>): Promise<void> {
    try {
      for await (const item of source) {
        this.#ready.push(item);
        this.#size += this.#sizeOf(item);
        this.#tell();
        while (this.#size > this.#most && !this.#isOver) await this.#change();
        if (this.#isOver) return;
      }
      this.#isDone = true;
    } catch (thrown) {
      this.#failure = { thrown };
    }
    this.#tell();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  #tell(): void {
    for (const each of this.#changed.splice(0)) each();
  }
}
