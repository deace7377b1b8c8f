/** What a client may see of a KO that others import and reload at the same time. Times are milliseconds. */

interface Span {
  readonly began: number;
  readonly ended: number;
}

interface Seen extends Span {
  readonly number: number;
}

/**
 * Holds calls to what may be active: a number that was imported, and of which no reload can have taken the place for
 * sure, which began after a later import was acknowledged, and was itself acknowledged before the call began.
 */
export class ActiveHistory {
  readonly #imports = new Map<number, Span>();
  readonly #reloads: Span[] = [];
  readonly #calls: Seen[] = [];

  /** To be told before it is acknowledged, too: what is about to be may be seen. */
  importing(number: number, began: number): void {
    this.#imports.set(number, { began, ended: Infinity });
  }

  imported(number: number): void {
    const began = this.#imports.get(number)?.began ?? 0;
    this.#imports.set(number, { began, ended: performance.now() });
  }

  reloaded(began: number): void {
    this.#reloads.push({ began, ended: performance.now() });
  }

  called(number: number, began: number): void {
    this.#calls.push({ number, began, ended: performance.now() });
  }

  get calls(): number {
    return this.#calls.length;
  }

  /** The calls that gave a wrong answer. */
  problems(): string[] {
    const goneFrom = new Map([...this.#imports].map(([number, span]) => [number, this.#goneAfter(span)]));
    return this.#calls.flatMap(({ number, began, ended }) => {
      const span = this.#imports.get(number);
      if (span === undefined || span.began > ended) return [`${number} was answered, and was not there yet`];
      const gone = goneFrom.get(number) ?? Infinity;
      return began > gone ? [`${number} was answered ${(began - gone).toFixed(0)} ms after another was active`] : [];
    });
  }

  #goneAfter({ ended }: Span): number {
    const replaced = Math.min(
      ...[...this.#imports.values()].filter(({ began }) => began > ended).map((each) => each.ended),
    );
    return Math.min(...this.#reloads.filter(({ began }) => began > replaced).map((each) => each.ended));
  }
}
