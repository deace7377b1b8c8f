/** How much the code of one endpoint may write to the log: whoever reads the log must not hold up the service. */

/** Characters that may come at once, … */
const BURST_CHARACTERS = 128 * 1024;
/** … characters a millisecond that may follow, … */
const CHARACTERS_PER_MS = 100;
/** … and what a line costs beside its text. */
const CHARACTERS_PER_LINE = 100;

export class ConsoleBudget {
  #used = 0;
  #at = 0;
  #full = false;

  /** `now`: milliseconds of `uptime()`. `last`: the first of those that are left out. */
  take(characters: number, now: number): 'yes' | 'last' | 'no' {
    this.#used = Math.max(0, this.#used - (now - this.#at) * CHARACTERS_PER_MS);
    this.#at = now;
    const wasFull = this.#full;
    this.#full = this.#used > (wasFull ? BURST_CHARACTERS / 2 : BURST_CHARACTERS);
    if (this.#full) return wasFull ? 'no' : 'last';
    this.#used += characters + CHARACTERS_PER_LINE;
    return 'yes';
  }
}
