/** So many may work at a time; who comes later waits in order. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(many: number) {
    this.#free = many;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
