import { readFile, readdir } from 'node:fs/promises';

/** Those that run and call themselves so. */
export async function processesNamed(name: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((each) => /^\d+$/.test(each));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')));
  return pids
    .filter((_, i) => stats[i]?.includes(`(${name}) `) === true && !stats[i].includes(`(${name}) Z`))
    .map(Number);
}
