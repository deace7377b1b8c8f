/** What stands for a process where not even its start could be prepared, such as on a disk that is full. */
import type { ProcessEvents } from './process.ts';

export interface NeverStarted {
  readonly pid: undefined;
  readonly alive: boolean;
  send(): void;
  write(): void;
  kill(): void;
  lowerPriority(): void;
  memory(): number;
  processorTime(): number;
}

/** The next start is tried after a pause, as where a program cannot be started. */
export function neverStarted(events: Pick<ProcessEvents, 'onExit'>, reason: string): NeverStarted {
  let alive = true;
  setImmediate(() => {
    // What is given to it from then on would be lost.
    alive = false;
    events.onExit(reason);
  });
  const nothing = (): void => undefined;
  const none = (): number => 0;
  return {
    get alive() {
      return alive;
    },
    ...{ pid: undefined, send: nothing, write: nothing, kill: nothing },
    ...{ lowerPriority: nothing, memory: none, processorTime: none },
  };
}
