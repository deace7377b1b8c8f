/** What code tries that should stay where it is, and what it aims at. */
import type { Way } from './steps.ts';

/** Whose code it is, and what runs it. */
export type Kind = 'javascript' | 'node' | 'python' | 'npm' | 'build';

/** Rows of the table in docs/security.md. */
export const AIMS = {
  reads: 'reads files of others',
  writes: 'changes files of others',
  spies: 'sees memory, environment and open files of processes',
  signals: 'steers other processes',
  programs: 'starts programs and processes',
  network: 'network',
  kernel: 'rare parts of the kernel',
} as const;
export type Aim = keyof typeof AIMS;

export interface Target {
  /** Process that started the attempt's one, and that of another knowledge object. */
  readonly activator: number;
  readonly sibling: number;
  /** Every process of the service. */
  readonly processes: readonly number[];
  /** Text in each file that is to be read, and in the environment of the activator. */
  readonly marker: string;
  /** Folder of the shelf, and a file in it. */
  readonly shelf: string;
  readonly stored: string;
  /** A file of another knowledge object, and one with a password. */
  readonly other: string;
  readonly password: string;
  /** What the user of the service may write, such as its home; it holds the files that attempts name. */
  readonly free: string;
  /** A file that the attempt may read, its program, and where it may write. */
  readonly own: { readonly file: string; readonly program: string; readonly scratch: string };
  /** Of what attempts leave: files in folders of all, and processes. */
  readonly unique: string;
  readonly tcp: number;
  readonly udp: number;
  /** Sockets that somebody listens on: a path, and the name of an abstract one. */
  readonly unix: string;
  readonly abstract: string;
  /** Paths of interpreters. */
  readonly node: string;
  readonly python: string;
  readonly isRoot: boolean;
  readonly user: number;
  readonly group: number;
  readonly activatorGroup: number;
}

export interface Attempt {
  readonly name: string;
  readonly aim: Aim;
  /** Tried one after the other until one gets through. */
  readonly ways: (target: Target) => readonly Way[];
  /** The file that is another one afterwards, or the call only looked as if it did it. */
  readonly changes?: (target: Target) => string;
  /** Leaves a process behind that has the name of the target. */
  readonly survives?: true;
  /** The kernel grants it to root alone, also where nobody put up walls. */
  readonly ofRoot?: true;
  /** Without the walls it is refused by something else. */
  readonly refusedBy?: Partial<Record<Kind, string>>;
  /** In spite of the walls it gets through; docs/security.md says so. */
  readonly open?: Partial<Record<Kind, string>>;
}
