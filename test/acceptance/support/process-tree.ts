/** What a process and all that it started cost, from /proc. */
import { readdir, readFile } from 'node:fs/promises';

interface Cost {
  /** Seconds of processor time so far. */
  readonly cpu: number;
  /** Resident bytes. */
  readonly memory: number;
}

const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

export async function costOf(
  pid: number,
): Promise<Cost & { readonly tree: Cost & { readonly pids: readonly number[] } }> {
  const all = (await Promise.all((await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(read))).flat();
  const tree = new Set([pid]);
  for (let grown = 0; grown !== tree.size;) {
    grown = tree.size;
    for (const each of all) if (tree.has(each.parent)) tree.add(each.pid);
  }
  const own = all.find((each) => each.pid === pid) ?? { cpu: 0, memory: 0 };
  const members = all.filter((each) => tree.has(each.pid));
  const sum = (of: (each: Cost) => number): number => members.reduce((total, each) => total + of(each), 0);
  return {
    cpu: own.cpu,
    memory: own.memory,
    tree: { cpu: sum((each) => each.cpu), memory: sum((each) => each.memory), pids: [...tree] },
  };
}

async function read(pid: string): Promise<(Cost & { pid: number; parent: number })[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent, user, system, pages] = [0, 1, 11, 12, 21].map((i) => fields[i]);
  if (parent === undefined || user === undefined || system === undefined || pages === undefined) return [];
  return [{ pid: Number(pid), parent, cpu: (user + system) / TICKS_PER_SECOND, memory: pages * PAGE_BYTES }];
}
