/** What was done to one knowledge object, and whether what readers saw agrees with it. Times are milliseconds. */

interface Span {
  readonly began: number;
  readonly ended: number;
}

/** A change that was acknowledged, or an answer: the number of the version, or none where there is no KO. */
interface Event extends Span {
  readonly number: number | undefined;
}

export class History {
  readonly #changes: Event[] = [{ number: undefined, began: -Infinity, ended: -Infinity }];
  readonly #reads: Event[] = [];

  changed(number: number | undefined, began: number): void {
    this.#changes.push({ number, began, ended: performance.now() });
  }

  read(number: number | undefined, began: number): void {
    this.#reads.push({ number, began, ended: performance.now() });
  }

  /**
   * The reads that gave what was not there: a change must have put it there before the read ended, and no other one
   * may have come in between for sure, which began after that one and was acknowledged before the read began.
   */
  problems(): string[] {
    const changes = this.#changes.toSorted((a, b) => a.ended - b.ended);
    /** The latest beginning of all changes up to each one. */
    const begun: number[] = [];
    for (const { began } of changes) begun.push(Math.max(began, begun.at(-1) ?? -Infinity));
    const byNumber = Map.groupBy(changes, ({ number }) => number);
    return this.#reads.flatMap(({ number, began, ended }) => {
      const over = begun[countBefore(changes, began) - 1] ?? -Infinity;
      const possible = byNumber.get(number)?.some((change) => change.began <= ended && change.ended >= over);
      return possible === true ? [] : [`${number} was read between ${began} and ${ended}`];
    });
  }
}

/** How many of the changes, sorted by their end, were acknowledged before a time. */
function countBefore(changes: readonly Event[], time: number): number {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((changes[middle]?.ended ?? Infinity) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
