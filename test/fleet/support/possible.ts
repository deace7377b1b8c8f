/** What may be there at a moment, of something that one client changes, whatever became of its changes. Times are milliseconds. */

export type Outcome =
  /** From its answer on nothing else is there. */
  | 'acknowledged'
  /** It had no answer, or one that says that it may be done. */
  | 'unknown'
  | 'refused';

interface Event<T> {
  readonly values: ReadonlySet<T>;
  readonly began: number;
  ended: number;
  outcome: Outcome;
}

export class Possible<T> {
  #events: Event<T>[];

  /** @param at from which it is there for sure. */
  constructor(value: T, at = performance.now()) {
    this.#events = [{ values: new Set([value]), began: at, ended: at, outcome: 'acknowledged' }];
  }

  /** One of these is about to come. @returns what to call at the end. */
  begin(values: Iterable<T>): (outcome: Outcome) => void {
    const event: Event<T> = { values: new Set(values), began: performance.now(), ended: Infinity, outcome: 'unknown' };
    this.#events.push(event);
    return (outcome) => {
      event.ended = performance.now();
      event.outcome = outcome;
      if (outcome === 'refused') this.#events = this.#events.filter((each) => each !== event);
    };
  }

  /** What somebody may see who asks from one time to another. */
  during(began: number, ended: number): ReadonlySet<T> {
    const sure = this.#events.findLastIndex((each) => each.outcome === 'acknowledged' && each.ended <= began);
    const rest = this.#events.slice(Math.max(sure, 0)).filter((each) => each.began <= ended);
    return new Set(rest.flatMap(({ values }) => [...values]));
  }

  now(): ReadonlySet<T> {
    const now = performance.now();
    return this.during(now, now);
  }
}
