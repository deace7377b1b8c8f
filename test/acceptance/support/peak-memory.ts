import { readFile } from 'node:fs/promises';

export const MB = 1024 * 1024;

/** Resident bytes that a process has taken at most, as Linux counts them. */
export async function peakMemory(pid: number): Promise<number> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
