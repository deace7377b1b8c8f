/** Starts real programs behind walls, or beside them, and gives what they say. */
import { spawn } from 'node:child_process';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findKernel } from '../../../src/confinement/find-kernel.ts';
import { launchOf } from '../../../src/confinement/launch.ts';
import { workerWalls } from '../../../src/engines/node/confinement.ts';
import type { Kernel, Walls } from '../../../src/confinement/walls.ts';

/** That of this machine, on which the tests of walls need all. */
export const kernel: Kernel = await findKernel('require');

/** A machine with an older Landlock. */
export const withLandlock = (abi: number): Kernel => ({ ...kernel, landlock: abi });

export interface Said {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Undefined walls: none. */
export async function run(
  program: string,
  args: readonly string[],
  walls: Walls | undefined,
  on = kernel,
  uid?: number,
): Promise<Said> {
  const plain = { program, args, env: {} };
  const start = (walls && launchOf(plain, walls, on, 0)) ?? plain;
  const child = spawn(start.program, start.args, {
    env: start.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const ended = new Promise<[number | null, string | null]>((resolve) => child.once('close', (...how) => resolve(how)));
  const [stdout, stderr, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, signal, stdout, stderr };
}

/** A folder of the test, without links in its path. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'kgrid-walls-')));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** A worker of Node which may write in a folder. */
export const nodeWalls = (scratch: string, more: { processes?: boolean; ports?: number[] } = {}): Walls =>
  workerWalls([], {
    root: scratch,
    folders: [],
    scratch,
    network: { ports: more.ports ?? [], environment: {}, files: [] },
    processes: more.processes ?? false,
  });
