/** Processes as /proc shows them. */
import { readdir, readFile } from 'node:fs/promises';
import { until } from './until.ts';

interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
}

/** Ids of all processes that the process started, and those they started. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const all = (await Promise.all((await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(read))).flat();
  const found = [pid];
  for (const parent of found) {
    found.push(...all.filter((each) => each.parent === parent && each.state !== 'Z').map((each) => each.pid));
  }
  return found.slice(1);
}

/** Waits until none of the processes is there; one that nobody has waited for yet has ended too. */
export async function gone(pids: readonly number[]): Promise<void> {
  await until(`processes ${pids.join(', ')} are gone`, async () => {
    const left = (await Promise.all(pids.map((pid) => read(String(pid))))).flat().filter(({ state }) => state !== 'Z');
    return left.length === 0 ? true : undefined;
  });
}

async function read(pid: string): Promise<Seen[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return state === undefined || parent === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), state }];
}
