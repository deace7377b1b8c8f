/** The time of the scheduler, which tests can set forward. */
import { uptime } from '../../lib/time.ts';

export interface Clock {
  /** Whole milliseconds that only grow. */
  now(): number;
  /** Calls again and again, and does not keep the process running. Gives what ends it. */
  every(milliseconds: number, action: () => void): () => void;
  /** Calls once, and does not keep the process running. */
  after(milliseconds: number, action: () => void): void;
  /** Calls when this turn of the event loop is over. */
  soon(action: () => void): void;
}

export const realClock: Clock = {
  now: uptime,
  every: (milliseconds, action) => {
    const timer = setInterval(action, milliseconds).unref();
    return () => clearInterval(timer);
  },
  after: (milliseconds, action) => void setTimeout(action, milliseconds).unref(),
  soon: (action) => void setImmediate(action),
};
