/** Memory in megabytes, where what several processes share counts once. */
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { costOf } from '../../test/acceptance/support/process-tree.ts';
import type { Server } from './servers.ts';

export interface Memory {
  /** Of the process itself. */
  readonly own: number;
  /** … and of all that it started. */
  readonly tree: number;
}

const LOOK_MS = 100;

/** Of the service and of all that it started. */
export const memoryOf = async ({ pid }: Server): Promise<number> => (await memoryNow(pid)).tree;

/** The most of each that was seen while something ran. */
export async function peakWhile<T>({ pid }: Server, work: Promise<T>): Promise<[T, Memory]> {
  let peak: Memory = { own: 0, tree: 0 };
  let isOver = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      const { own, tree } = await memoryNow(pid);
      peak = { own: Math.max(peak.own, own), tree: Math.max(peak.tree, tree) };
      await wait(LOOK_MS);
    }
  };
  const ended = work.finally(() => (isOver = true));
  const [result] = await Promise.all([ended, look()]);
  return [result, peak];
}

async function memoryNow(pid: number): Promise<Memory> {
  const { pids } = (await costOf(pid)).tree;
  const all = await Promise.all(pids.map(proportionalOf));
  return { own: all[pids.indexOf(pid)] ?? 0, tree: all.reduce((sum, each) => sum + each, 0) };
}

/** Of one process. */
export async function proportionalOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1024;
}
