/** A clock whose time passes only when somebody takes the next step. */
import type { Clock } from '../../../src/engines/supervisor/clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  action: (() => void) | undefined;
}

export class FakeClock implements Clock {
  #now = 1000;
  #order = 0;
  /** A binary heap, the next first. */
  readonly #timers: Timer[] = [];

  now(): number {
    return this.#now;
  }

  every(milliseconds: number, action: () => void): () => void {
    let timer = this.#add(milliseconds, () => undefined);
    const again = (): void => {
      timer = this.#add(milliseconds, again);
      action();
    };
    timer.action = again;
    return () => (timer.action = undefined);
  }

  after(milliseconds: number, action: () => void): void {
    this.#add(milliseconds, action);
  }

  soon(action: () => void): void {
    this.#add(0, action);
  }

  /** Lets time pass until something happens; false when nothing ever will. */
  step(): boolean {
    for (;;) {
      const next = this.#take();
      if (next === undefined) return false;
      if (next.action === undefined) continue;
      this.#now = next.at;
      next.action();
      return true;
    }
  }

  #add(milliseconds: number, action: () => void): Timer {
    const timer = { at: this.#now + Math.max(0, milliseconds), order: this.#order++, action };
    const timers = this.#timers;
    let i = timers.push(timer) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = timers[parent];
      if (above === undefined || isBefore(above, timer)) break;
      timers[i] = above;
      i = parent;
    }
    timers[i] = timer;
    return timer;
  }

  #take(): Timer | undefined {
    const timers = this.#timers;
    const [first] = timers;
    const last = timers.pop();
    if (first === undefined || last === undefined || timers.length === 0) return first;
    let i = 0;
    for (;;) {
      const [left, right] = [timers[2 * i + 1], timers[2 * i + 2]];
      const goesRight = left !== undefined && right !== undefined && isBefore(right, left);
      const below = goesRight ? right : left;
      if (below === undefined || isBefore(last, below)) break;
      timers[i] = below;
      i = 2 * i + (goesRight ? 2 : 1);
    }
    timers[i] = last;
    return first;
  }
}

const isBefore = (a: Timer, b: Timer): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
