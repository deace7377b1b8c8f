/** Waits for the end of a group of processes whose head has ended, and which were all told to end. */
import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

const LOOK_MS = 20;
const PATIENCE_MS = 30_000;

/** @returns whether none of them runs any more. */
export async function groupHasEnded(group: number): Promise<boolean> {
  for (const late = performance.now() + PATIENCE_MS; await isRunning(group); await pause(LOOK_MS))
    if (performance.now() > late) return false;
  return true;
}

async function isRunning(group: number): Promise<boolean> {
  try {
    process.kill(-group, 0);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  // What has ended counts until its parent asks, and that may never do.
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const running = await Promise.all(pids.map((pid) => isIn(group, pid)));
  return running.includes(true);
}

async function isIn(group: number, pid: string): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const [state = 'X', , itsGroup] = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return Number(itsGroup) === group && !'ZX'.includes(state);
}
