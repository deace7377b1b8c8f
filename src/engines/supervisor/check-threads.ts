import { readFileSync } from 'node:fs';

/** Behind the name of the program, which is in brackets and may hold any character. */
const NUMBER_OF_THREADS = 17;

/** Tells of processes that have more threads than they may. */
export function checkThreads(
  pids: readonly number[],
  most: number,
  onTooMany: (pid: number, reason: string) => void,
): void {
  for (const pid of pids)
    if (threadsOf(pid) > most) onTooMany(pid, `The knowledge object started more than ${most} threads`);
}

/** 0 where the system does not tell, or the process has ended. */
function threadsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ');
    return Number(fields?.[NUMBER_OF_THREADS] ?? 0);
  } catch {
    return 0;
  }
}
