/** System calls as data: what the interpreters `attempt.py` and `attempt.mjs` run, wherever they got into. */
import { constants } from 'node:os';
import { CALLS } from './calls.ts';
import type { CallName } from './calls.ts';

/** A text is a pointer to it, with its zero. */
export type Arg =
  | number
  | string
  /** A pointer to these bytes, in hex. */
  | { readonly bytes: string }
  /** A pointer to bytes, in hex, that other calls of the way get too. */
  | { readonly kept: string; readonly content: string }
  /** A pointer to so many bytes of zero, which `shows` looks at afterwards. */
  | { readonly room: number }
  /** A pointer to these as words of 64 bits. */
  | { readonly words: readonly Arg[] }
  /** The result of an earlier step of the same way. */
  | { readonly of: number };

export interface Call {
  readonly nr: number;
  readonly args: readonly Arg[];
  /** Numbers of errors that come only from behind the wall. */
  readonly passes?: readonly number[];
  /** Must be in what the call gave: a text anywhere, or bytes, in hex, at their place. */
  readonly shows?: string | Shown;
  readonly repeat?: number;
}

interface Shown {
  readonly bytes: string;
  readonly at: number;
}

/** Makes a child, which makes calls and ends; `wait` is false where it may go on. */
export interface Fork extends Call {
  readonly child: readonly Call[];
  readonly wait?: boolean;
}

/** Machine code without arguments. */
interface Code {
  readonly code: string;
}

/** Those that Node has no name for, too. */
export const ERRORS = { ...constants.errno, ENOKEY: 126 };
type ErrorName = keyof typeof ERRORS;

export type Step = Call | Fork | Code;
/** Gets through when each step succeeds. */
export type Way = readonly Step[];

export const call = (name: CallName, ...args: Arg[]): Call => ({ nr: numberOf(name), args });

/** The call got behind the wall where it fails by one of these. */
export const orFailsBy = (step: Call, ...errors: ErrorName[]): Call => ({
  ...step,
  passes: errors.map((each) => ERRORS[each]),
});
export const showing = (step: Call, shows: string | Shown): Call => ({ ...step, shows });
export const times = <T extends Step>(repeat: number, step: T): T => ({ ...step, repeat });

const SIGCHLD = 17;
export const fork = (child: readonly Call[], { wait = true, flags = 0 } = {}): Fork => ({
  ...call('clone', SIGCHLD | flags, 0, 0, 0, 0),
  child,
  wait,
});

/** … where it may have one; else in this process. */
export const inChild = (step: Call): readonly Way[] => [[fork([step])], [step]];

export const CURRENT_FOLDER = -100;
export const open = (path: Arg, flags = 0): Call => call('openat', CURRENT_FOLDER, path, flags, 0o600);
/** Ways that read a file. */
export const read = (path: string, text?: string): Way => {
  const content = call('read', { of: 0 }, { room: 65_536 }, 65_536);
  return [open(path), text === undefined ? content : showing(content, text)];
};

/** A structure of words of 32 bits, in hex. */
export const ints = (...values: number[]): string => Buffer.from(Int32Array.from(values).buffer).toString('hex');

function numberOf(name: CallName): number {
  const [x64, arm64] = CALLS[name];
  const number = process.arch === 'x64' ? x64 : arm64;
  return number ?? NONE;
}

/** No system call has it: ENOSYS. */
const NONE = 9999;
