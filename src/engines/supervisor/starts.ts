/** How the starts of processes go: where they fail, the next are tried after pauses that grow. */
import { Backoff } from '../../lib/backoff.ts';
import type { Clock } from './clock.ts';

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;
/** Starts that fail in a row after which a load is given up. */
const MOST_FAILED = 3;

export class Starts {
  readonly #clock: Clock;
  readonly #backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  #failed = 0;
  #pausedUntil = 0;
  #problem: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why there is no sandbox, while that is so. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** False during a pause, for workers beside the shared ones. */
  get mayStart(): boolean {
    return this.#clock.now() >= this.#pausedUntil;
  }

  get areHopeless(): boolean {
    return this.#failed >= MOST_FAILED;
  }

  onReady(): void {
    this.#failed = 0;
    this.#backoff.reset();
    this.#pausedUntil = 0;
    this.#problem = undefined;
  }

  /** Gives the milliseconds after which the next may be tried. */
  onFailed(reason: string): number {
    this.#failed++;
    this.#problem = `a sandbox process cannot be started: ${reason}`;
    const pause = this.#backoff.next();
    this.#pausedUntil = this.#clock.now() + pause;
    return pause;
  }
}
