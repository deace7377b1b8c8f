/** Runs the programs that fetch and build packages, behind their walls and within limits. */
import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Kernel } from '../../../confinement/walls.ts';
import { seconds } from '../call-failure.ts';
import { ProtocolError } from '../frames.ts';
import { ChildProgram, type Command } from '../process.ts';

/** Looks at what a program writes, and ends it where that is too much; resolves its `stop` after the last look. */
export type Watch = (end: (problem: string) => void) => { stop(): Promise<void> };

export interface InstallRun {
  readonly command: Omit<Command, 'input' | 'isWorker'>;
  /** What it does, in words that begin a sentence. */
  readonly what: string;
  readonly watch: Watch;
  /** Receives what it prints. */
  readonly onOutput?: (text: string) => void;
}

export interface InstallEnd {
  readonly code: number;
  /** The end of what it printed. */
  readonly output: string;
  /** Why it was ended, as a sentence; undefined where it ended by itself. */
  readonly problem: string | undefined;
}

const KILLED = 137;
const KEPT_CHARACTERS = 256 * 1024;
const MOST_PRINTED_CHARACTERS = 64 * 2 ** 20;

export class InstallRuns {
  readonly #kernel: Kernel;
  readonly #limitMs: number;
  readonly #running = new Set<ChildProgram>();

  /** `limitMs`: milliseconds that a program may take. */
  constructor(kernel: Kernel, limitMs: number) {
    this.#kernel = kernel;
    this.#limitMs = limitMs;
  }

  /** Resolves when the program has ended, with everything that it has started. */
  async run({ command, what, watch, onOutput }: InstallRun): Promise<InstallEnd> {
    let output = '';
    let printed = 0;
    let problem: string | undefined;
    const { promise: ended, resolve } = Promise.withResolvers<number>();
    const take = (text: string): void => {
      output = (output + text).slice(-KEPT_CHARACTERS);
      printed += text.length;
      if (printed > MOST_PRINTED_CHARACTERS) end(`${what} printed more than ${MOST_PRINTED_CHARACTERS / 2 ** 20} MB`);
      else onOutput?.(text);
    };
    const child = new ChildProgram(
      { ...command, input: '', isWorker: true },
      {
        onFrame: () => undefined,
        mostOf: (kind) => {
          throw new ProtocolError(`an installation sends no frames, and not of kind ${kind}`);
        },
        onOutput: (_name, stream) => {
          stream.setEncoding('utf8').on('data', take);
        },
        onExit: (reason) => {
          const code = Number(/^exit code (\d+)/.exec(reason)?.[1] ?? KILLED);
          const { pid } = child;
          if (pid === undefined) resolve(code);
          else void groupHasEnded(pid).then((hasEnded) => resolve(hasEnded ? code : KILLED));
        },
      },
      this.#kernel,
    );
    this.#running.add(child);
    const end = (why: string): void => {
      problem ??= why;
      child.kill();
    };
    const timer = setTimeout(() => end(`${what} passed the limit of ${seconds(this.#limitMs)}`), this.#limitMs);
    const watching = watch(end);
    const code = await ended;
    clearTimeout(timer);
    this.#running.delete(child);
    await watching.stop();
    return { code, output, problem };
  }

  /** Ends all at once. */
  kill(): void {
    for (const child of this.#running) child.kill();
  }
}

const LOOK_MS = 20;
const PATIENCE_MS = 30_000;

/** @returns whether none of them runs any more. */
export async function groupHasEnded(group: number): Promise<boolean> {
  for (const late = performance.now() + PATIENCE_MS; await isRunning(group); await pause(LOOK_MS))
    if (performance.now() > late) return false;
  return true;
}

async function isRunning(group: number): Promise<boolean> {
  try {
    process.kill(-group, 0);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  // What has ended counts until its parent asks, and that may never do.
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const running = await Promise.all(pids.map((pid) => isIn(group, pid)));
  return running.includes(true);
}

async function isIn(group: number, pid: string): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const [state = 'X', , itsGroup] = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return Number(itsGroup) === group && !'ZX'.includes(state);
}

/** What one installation may take of the disk, for every engine; counted while it is written. */
export const INSTALL_LIMITS = { bytes: 4 * 2 ** 30, files: 200_000 } as const;

export type InstallLimits = { readonly [Limit in keyof typeof INSTALL_LIMITS]: number };
