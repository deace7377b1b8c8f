/** Tells a process that the kernel ended for want of memory from one that somebody killed: both get the same signal. */
import { readFileSync } from 'node:fs';

/** Behind the signal, in the reason for the end of such a process. */
export const KILLED_FOR_MEMORY = 'the kernel ended it, since no memory was left';

/** How many processes the kernel has ended for want of memory, of the machine or of a container; 0 where it does not tell. */
export function memoryKills(file = '/proc/vmstat'): number {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(file, 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
