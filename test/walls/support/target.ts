/** What the attempts aim at: files, processes and sockets of a service, each with something to find. */
import { spawn, spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Target } from './attempt.ts';

const EVERYBODY = 0o777;

export interface OwnTarget extends AsyncDisposable {
  readonly target: Target;
  /** The same, with files that no attempt has touched. */
  readonly fresh: () => Promise<Target>;
}

export interface Aimed {
  readonly activator: number;
  readonly sibling: number;
  readonly own?: Target['own'];
  readonly tcp?: number;
  readonly marker: string;
  /** Before a command that runs as another user. */
  readonly as: readonly string[] | undefined;
}

export async function makeTarget(aimed: Aimed): Promise<OwnTarget> {
  const { activator, marker } = aimed;
  const isRoot = aimed.as === undefined && process.getuid?.() === 0;
  const [user, group] = isRoot
    ? [0, 0]
    : process.getuid?.() === 0
      ? [NOBODY, NOBODY]
      : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-walls-'));
  await chmod(folder, EVERYBODY);
  const file = async (path: string): Promise<string> => {
    const all = join(folder, path);
    await mkdir(join(all, '..'), { recursive: true });
    await chmod(join(all, '..'), EVERYBODY);
    await writeFile(all, `${marker}\n`);
    await chmod(all, EVERYBODY);
    if (aimed.as !== undefined) await chown(all, user, group);
    return all;
  };
  // One name for the whole machine.
  const abstractName = `kgw${randomBytes(8).toString('hex')}`;
  const tcp = await listening(createServer(hangUp), { port: 0, host: '127.0.0.1' });
  const unix = await listening(createServer(hangUp), { path: join(folder, 'socket') });
  await chmod(join(folder, 'socket'), EVERYBODY);
  const abstract = await listening(createServer(hangUp), { path: `\0${abstractName}` });
  const udp = createSocket('udp4').bind(0, '127.0.0.1');
  await once(udp, 'listening');
  const uniques: string[] = [];
  let round = 0;
  const fresh = async (): Promise<Target> => {
    const free = `free-${(round += 1)}`;
    for (const each of FILES) await file(`${free}/${each}`);
    const unique = `kgw${randomBytes(5).toString('hex')}`;
    uniques.push(unique);
    const own = {
      file: await file(`${free}/own/index.js`),
      program: await file(`${free}/program/main.js`),
      scratch: join(folder, free, 'scratch'),
    };
    await file(`${free}/scratch/kept`);
    return {
      activator,
      sibling: aimed.sibling,
      processes: [activator, aimed.sibling],
      marker,
      shelf: join(folder, 'shelf'),
      stored: await file('shelf/stored'),
      other: await file('other/code'),
      password: await file('password'),
      free: join(folder, free),
      own,
      unique,
      ...(aimed.own !== undefined && { own: aimed.own }),
      tcp: aimed.tcp ?? (tcp.address() as AddressInfo).port,
      udp: udp.address().port,
      unix: join(folder, 'socket'),
      abstract: abstractName,
      node: process.execPath,
      python: pythonFor(aimed.as),
      isRoot,
      user,
      group,
      activatorGroup: Number((await readFile(`/proc/${activator}/stat`, 'utf8')).split(') ')[1]?.split(' ')[2]),
    };
  };
  return {
    target: await fresh(),
    fresh,
    async [Symbol.asyncDispose]() {
      for (const server of [tcp, unix, abstract]) server.close();
      udp.close();
      await rm(folder, { recursive: true, force: true });
      for (const name of uniques) {
        for (const path of [`/tmp/${name}`, `/dev/shm/${name}`]) await rm(path, { force: true });
        for (const path of [`/tmp/${name}-program`, `/dev/shm/${name}-program`]) await rm(path, { force: true });
      }
    },
  };
}

/** One for each attempt that changes one. */
const FILES = ['victim', 'moved', 'gone', 'mode', 'owner', 'times', 'attributes', 'flags'];

export const NOBODY = 65_534;
export const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'];
/** The first python3 on the path that the user may run; some lie in somebody's home. */
export function pythonFor(as: readonly string[] = []): string {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const [command = '', ...args] = [...as, join(folder, 'python3'), '-c', 'import sys; print(sys._base_executable)'];
    const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', cwd: '/' });
    if (status === 0) return realpathSync(stdout.trim());
  }
  throw new Error('there is no python3 on the path that this user may run');
}

/** Takes the capabilities of root away, where it has some. */
export const NO_CAPABILITIES =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs', '--'] : [];

/** Whoever comes may have gone by then. */
const hangUp = (socket: Socket): void => void socket.on('error', () => undefined).destroy();

async function listening(server: Server, where: { port: number; host: string } | { path: string }): Promise<Server> {
  server.listen(where);
  await once(server, 'listening');
  return server.unref();
}

/** A process with a text in its environment, which does nothing. */
export async function idleProcess(marker: string, as: readonly string[] = []): Promise<{ pid: number } & Disposable> {
  const [command = '', ...args] = [...as, process.execPath, '-e', 'console.log(1); setInterval(() => {}, 1e6)'];
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'] ?? '', MARKER: marker },
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  });
  child.stdio[3]?.on('error', () => undefined);
  if (child.stdout !== null) await once(child.stdout, 'data');
  return { pid: child.pid ?? 0, [Symbol.dispose]: () => void child.kill('SIGKILL') };
}
