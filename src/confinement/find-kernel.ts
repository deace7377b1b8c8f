/** What walls this machine has: asked in a short child, which lays them on itself. */
import { execFile } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { messageOf, startRefused } from '../lib/errors.ts';
import { systemCalls } from './system-calls.ts';
import { NO_WALLS } from './walls.ts';
import type { Kernel, WallsMode } from './walls.ts';

const ASK = fileURLToPath(new URL('./ask-kernel.js', import.meta.url));
/** Milliseconds; it takes 50 where nothing else runs. */
const MOST = 30_000;

/** What the child tells: with the code of an error for each that is not there. */
export interface Found {
  landlock: number;
  seccomp: boolean;
  koffi?: string | undefined;
  noKoffi?: string;
  noLandlock?: string;
  noSeccomp?: string;
}

/** @throws startRefused where walls are required, with what is missing and what to do. */
export async function findKernel(mode: WallsMode): Promise<Kernel> {
  if (mode === 'off') return NO_WALLS;
  const kernel = toKernel(await ask());
  if (mode === 'require' && kernel.missing.length > 0)
    throw startRefused(
      `--walls require: ${kernel.missing.join('; ')}. Or start with --walls auto, which does with what is there`,
    );
  return kernel;
}

async function ask(): Promise<Found> {
  if (process.platform !== 'linux' || systemCalls(process.arch) === undefined)
    return { landlock: 0, seccomp: false, noKoffi: `${process.platform} on ${process.arch}` };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [ASK], { env: {}, timeout: MOST });
    // Until the handle of the child is closed too.
    await setImmediate();
    return JSON.parse(stdout) as Found;
  } catch (thrown) {
    return { landlock: 0, seccomp: false, noKoffi: messageOf(thrown) };
  }
}

/** Exported for tests of what other kernels give. */
export function toKernel({ landlock, seccomp, koffi, noKoffi, noLandlock = '', noSeccomp = '' }: Found): Kernel {
  if (koffi === undefined) return { ...NO_WALLS, missing: [`no walls: ${noKoffiText(noKoffi ?? '')}`] };
  const missing = [
    ...(landlock > 0
      ? []
      : [`no walls around files and signals: ${NO_LANDLOCK[noLandlock] ?? `Landlock gives ${noLandlock}`}`]),
    ...(seccomp
      ? []
      : [`no filter of system calls: the kernel has no seccomp (${noSeccomp}), or a container refuses it`]),
  ];
  return { landlock, seccomp, koffi: missing.length === 2 ? undefined : koffi, missing, weaker: weakerOf(landlock) };
}

const noKoffiText = (reason: string): string =>
  `the package koffi, through which the kernel is asked, cannot be loaded (${reason}): install with npm ci on Linux, x86-64 or arm64, and leave optional packages in`;

const NO_LANDLOCK: Partial<Record<string, string>> = {
  ENOSYS:
    'the kernel has no Landlock, which comes with Linux 5.13, or a container refuses it: Docker allows it from version 23 on',
  // Node's name for EOPNOTSUPP.
  ENOTSUP: 'Landlock is switched off: add landlock to the list lsm= of the command line of the kernel',
  EPERM:
    'something refuses Landlock, such as the seccomp profile of a container: allow the system calls landlock_* in it, as Docker does from version 23 on',
};

/** What an older Landlock does not judge, and no filter can in its place. */
function weakerOf(abi: number): string[] {
  if (abi < 1) return [];
  return [
    ...(abi < 4 ? ['code that may use the network reaches any port, not only its own (Linux 6.7)'] : []),
    ...(abi < 6 ? ['code that may make processes can send signals to others of the user (Linux 6.12)'] : []),
  ];
}
