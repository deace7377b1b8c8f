/** Makes sure that `wrk` is there. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** Installs Debian's package where it is missing, as root or with sudo. @throws Error with what to do when it cannot. */
export async function ensureWrk(say: (text: string) => void, signal: AbortSignal): Promise<void> {
  if (isThere()) return;
  say("wrk is missing: installing Debian's package wrk with apt-get");
  const apt = process.getuid?.() === 0 ? ['apt-get'] : ['sudo', 'apt-get'];
  if (!(await succeeds([...apt, 'install', '-y', 'wrk'], signal))) {
    say('apt-get may not know the package yet: updating its lists');
    await succeeds([...apt, 'update'], signal);
    await succeeds([...apt, 'install', '-y', 'wrk'], signal);
  }
  if (!isThere()) throw new Error('wrk could not be installed: put wrk on the PATH and start again');
}

/** `wrk -v` ends with 1, so only that it starts is asked. */
const isThere = (): boolean => spawnSync('wrk', ['-v']).error === undefined;

/** Standard output is for the report alone. */
async function succeeds([command = '', ...args]: string[], signal: AbortSignal): Promise<boolean> {
  const child = spawn(command, args, { stdio: ['inherit', process.stderr, process.stderr], signal });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
