/** A clock whose time passes only when somebody takes the next step. */
import type { Clock } from '../clock.ts';

interface Alarm {
  readonly at: number;
  readonly order: number;
  action: (() => void) | undefined;
}

export class FakeClock implements Clock {
  #now = 1000;
  #order = 0;
  /** A binary heap, the next first. */
  readonly #alarms: Alarm[] = [];

  now(): number {
    return this.#now;
  }

  every(milliseconds: number, action: () => void): () => void {
    let alarm = this.#add(milliseconds, () => undefined);
    const again = (): void => {
      alarm = this.#add(milliseconds, again);
      action();
    };
    alarm.action = again;
    return () => (alarm.action = undefined);
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

  #add(milliseconds: number, action: () => void): Alarm {
    const alarm = { at: this.#now + Math.max(0, milliseconds), order: this.#order++, action };
    const alarms = this.#alarms;
    let i = alarms.push(alarm) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = alarms[parent];
      if (above === undefined || isBefore(above, alarm)) break;
      alarms[i] = above;
      i = parent;
    }
    alarms[i] = alarm;
    return alarm;
  }

  #take(): Alarm | undefined {
    const alarms = this.#alarms;
    const [first] = alarms;
    const last = alarms.pop();
    if (first === undefined || last === undefined || alarms.length === 0) return first;
    let i = 0;
    for (;;) {
      const [left, right] = [alarms[2 * i + 1], alarms[2 * i + 2]];
      const goesRight = left !== undefined && right !== undefined && isBefore(right, left);
      const below = goesRight ? right : left;
      if (below === undefined || isBefore(last, below)) break;
      alarms[i] = below;
      i = 2 * i + (goesRight ? 2 : 1);
    }
    alarms[i] = last;
    return first;
  }
}

const isBefore = (a: Alarm, b: Alarm): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
