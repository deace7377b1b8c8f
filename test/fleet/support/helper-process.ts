/** A program beside the nodes of a fleet, such as a balancer, that ends with the test. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

export interface HelperProcess extends AsyncDisposable {
  readonly pid: number;
}

export interface HelperStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Under which it takes connections once it is ready. */
  readonly port: number;
  /** As another user, where this is root and the program refuses to be. */
  readonly neverRoot?: boolean;
}

/** Resolves once it takes connections. */
export async function startHelper(start: HelperStart): Promise<HelperProcess> {
  const { command, args, env = {}, cwd, port, neverRoot = false } = start;
  const isRoot = neverRoot && process.getuid?.() === 0;
  const [program = command, ...rest] = isRoot ? [...asNobody(), command, ...args] : [command, ...args];
  const child = spawn(program, rest, {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // With its workers it is a group, and ends as one.
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)));
  let hasEnded = false;
  const ended = once(child, 'close').then(() => (hasEnded = true));
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Nothing of it runs any more.
    }
  };
  process.on('exit', kill);
  while (!(await takesConnections(port))) {
    if (hasEnded) throw new Error(`${command} has ended: ${said}`);
    await wait(20);
  }
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      process.off('exit', kill);
      kill();
      await ended;
    },
  };
}

/** User and group as whom such a program runs. */
export function nobody(): { readonly uid: number; readonly gid: number } {
  const idOf = (which: string): number => Number(execFileSync('id', [which, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function asNobody(): string[] {
  const { uid, gid } = nobody();
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'];
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
}
