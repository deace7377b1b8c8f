/** What a process that runs code of others may do: told by what starts it, kept by the kernel. */

export interface Walls {
  /** Files and folders, each with what is below it; what is not there is left out. `execute` may also be read. */
  readonly read: readonly string[];
  readonly execute: readonly string[];
  readonly write: readonly string[];
  /** TCP ports that may be connected to, on any host; none by default; `any` only for those that fetch packages. */
  readonly connect: readonly number[] | 'any';
  /** Filter of system calls. */
  readonly calls: 'sandbox' | 'worker' | 'installer';
  /** May make processes, not only threads: the operator allowed it for this KO, or an installer. */
  readonly processes: boolean;
}

/** Whether processes start without walls where the kernel has none; `off` is for machines on which they do harm. */
export const WALLS_MODES = ['auto', 'require', 'off'] as const;
export type WallsMode = (typeof WALLS_MODES)[number];

/** What the kernel and this installation have for walls, found out once. */
export interface Kernel {
  /** Version of Landlock's interface, from 1; 0 where there is none. */
  readonly landlock: number;
  readonly seccomp: boolean;
  /** Path of the native part of koffi, by which the kernel is asked; undefined where there is none, and then no walls. */
  readonly koffi: string | undefined;
  /** Walls that cannot be laid, each with the reason and what to do. */
  readonly missing: readonly string[];
  /** What is open because this kernel's Landlock is older, each with the version that closes it. */
  readonly weaker: readonly string[];
}

/** Starts processes as they are: with `setpriv` where that is there. */
export const NO_WALLS: Kernel = { landlock: 0, seccomp: false, koffi: undefined, missing: [], weaker: [] };
