/** What starts a program behind walls: the launcher, with its policy. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Filter } from './bpf.ts';
import { domainOf } from './landlock.ts';
import { NO_PROC } from './needed-files.ts';
import type { Domain } from './landlock.ts';
import { startFilter } from './seccomp.ts';
import type { Kernel, Walls } from './walls.ts';

const LAUNCHER = fileURLToPath(new URL('./launcher.js', import.meta.url));

/** What the launcher does, in this order. */
export interface LaunchPolicy {
  readonly koffi: string;
  /** Id of the process that starts it. */
  readonly parent: number;
  readonly limits: readonly (readonly [resource: number, most: number])[];
  /** Pipes from file descriptor 3 on. */
  readonly pipes: number;
  readonly domain?: Domain | undefined;
  readonly filter?: Filter | undefined;
  readonly program: string;
  readonly args: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
}

export interface Program {
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What the launcher prints where it fails. */
const NOT_LAID = 'Error: its walls cannot be laid: ';

export const isOfLauncher = (line: string): boolean => line.startsWith(NOT_LAID);

/** `reason`: how a process ended before its program was there. */
export function whyNotStarted(reason: string): string {
  const [, why] = reason.split(NOT_LAID, 2);
  if (why?.includes("open '/proc/") === true) return NO_PROC;
  return why === undefined ? reason : `its walls cannot be laid: ${why} (--walls off would start it without)`;
}

/** Its number on Linux, x86-64 and arm64. */
const RLIMIT_FSIZE = 1;
const RLIMIT_CORE = 4;
const RLIMIT_NOFILE = 7;

const LIMITS: Record<Walls['calls'], { readonly files: number; readonly bytesOfFile: number }> = {
  sandbox: { files: 64, bytesOfFile: 0 },
  worker: { files: 1024, bytesOfFile: 2 ** 28 },
  installer: { files: 4096, bytesOfFile: 2 ** 33 },
};

/** What is seen before a start is tried; undefined where there is no reason. */
export const whyNothingStarts = ({ koffi }: Kernel): string | undefined =>
  koffi === undefined || existsSync('/proc/self/status') ? undefined : NO_PROC;

/** What to start in place of a program; undefined where there are no walls. */
export function launchOf(program: Program, walls: Walls, kernel: Kernel, pipes: number): Program | undefined {
  if (kernel.koffi === undefined) return undefined;
  const { files, bytesOfFile } = LIMITS[walls.calls];
  const policy: LaunchPolicy = {
    koffi: kernel.koffi,
    parent: process.pid,
    limits: [
      [RLIMIT_CORE, 0],
      [RLIMIT_NOFILE, files],
      [RLIMIT_FSIZE, bytesOfFile],
    ],
    pipes,
    domain: domainOf(walls, kernel.landlock),
    filter: kernel.seccomp ? startFilter(walls, kernel.landlock) : undefined,
    program: program.program,
    args: program.args,
    env: Object.entries(program.env).map(([name, value]) => `${name}=${value}`),
  };
  return { program: process.execPath, args: [LAUNCHER], env: { KGRID_LAUNCH: JSON.stringify(policy) } };
}
