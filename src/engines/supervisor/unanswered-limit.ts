/** How long calls wait that have no time of their own, as records: as long as others are answered. */
import type { Clock } from './clock.ts';
import type { Starts } from './starts.ts';

/** Milliseconds beyond its limit for which a record waits while none is answered: its process may end, start and load again meanwhile. */
export const UNANSWERED_MS = 30_000;

export class UnansweredLimit {
  readonly #clock: Clock;
  readonly #starts: Pick<Starts, 'areHopeless'>;
  #answered: number;

  constructor(clock: Clock, starts: Pick<Starts, 'areHopeless'>) {
    this.#clock = clock;
    this.#starts = starts;
    this.#answered = clock.now();
  }

  /** Some call has its answer. */
  onAnswer(): void {
    this.#answered = this.#clock.now();
  }

  /** This process itself stood still: nothing could be answered meanwhile. */
  forgive(milliseconds: number): void {
    this.#answered += milliseconds;
  }

  /** Calls that came until then, of an endpoint with such a limit, get no turn any more. Where no process starts, they wait as long as any call. */
  lost({ limit }: { readonly limit: number }): number {
    const longest = limit + (this.#starts.areHopeless ? 0 : UNANSWERED_MS);
    const now = this.#clock.now();
    return now - this.#answered > longest ? now - longest : -Infinity;
  }
}
