/** How the starts of processes go: where they fail, the next are tried after pauses that grow. */
import { Backoff } from '../../lib/backoff.ts';
import type { Clock } from './clock.ts';
import type { Policy } from '../sandbox/policy.ts';

/** Milliseconds of the pauses, and how often in a row a start may fail. */
export type StartPolicy = Pick<Policy, 'firstPauseMs' | 'longestPauseMs' | 'mostFailedStarts'>;

export class Starts {
  readonly #clock: Clock;
  readonly #policy: StartPolicy;
  readonly #backoff: Backoff;
  #failed = 0;
  #pausedUntil = 0;
  #problem: string | undefined;

  constructor(clock: Clock, policy: StartPolicy) {
    this.#clock = clock;
    this.#policy = policy;
    this.#backoff = new Backoff(policy.firstPauseMs, policy.longestPauseMs);
  }

  /** Why there is no sandbox, while that is so. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** False during a pause, for processes beside those of the fast lane. */
  get mayStart(): boolean {
    return this.#clock.now() >= this.#pausedUntil;
  }

  get areHopeless(): boolean {
    return this.#failed >= this.#policy.mostFailedStarts;
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
