import { constants } from 'node:os';
import { EXIT } from './exit.ts';
import type { ExitCode } from './exit.ts';
import { createTerminal } from './terminal.ts';
import type { Terminal } from './terminal.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a command gets of the process it runs in. */
export interface Context {
  readonly env: Environment;
  readonly terminal: (options: { readonly json?: boolean }) => Terminal;
  /** Where data comes from and goes to, where it is no file. */
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  /** Resolves when the person wants the command to end, which then has a while to do so. */
  readonly interrupted: () => Promise<void>;
  /** What is printed where the command line itself is wrong, or asks for help. */
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Set by the command. */
  exitCode: ExitCode;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A terminal and what started the command may both pass on one keystroke. */
const SAME_KEYSTROKE_MS = 1000;

/** The command's own process; a signal ends it unless the command waits for one. */
export function processContext(): Context {
  let onSignal: (() => void) | undefined;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (onSignal === undefined) process.exit(128 + constants.signals[signal]);
      onSignal();
    });
  }
  return {
    env: process.env,
    // Opened when it is asked for: it would hold up the end of other commands.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    write: (text) => void process.stdout.write(text),
    writeError: (text) => void process.stderr.write(text),
    exitCode: EXIT.ok,
    terminal: ({ json = false }) =>
      createTerminal({ json, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr }),
    interrupted: () =>
      new Promise((resolve) => {
        onSignal = () => {
          const began = Date.now();
          resolve();
          onSignal = () => {
            if (Date.now() - began > SAME_KEYSTROKE_MS) process.exit();
          };
        };
      }),
  };
}
