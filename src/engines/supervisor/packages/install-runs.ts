/** Runs the programs that fetch and build packages, behind their walls and within limits. */
import { OddFrame } from '../frames.ts';
import { SandboxProcess } from '../process.ts';
import type { Command } from '../process.ts';
import type { Kernel } from '../../../confinement/walls.ts';
import { seconds } from '../call-failure.ts';
import { groupHasEnded } from './group-end.ts';

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
  readonly #running = new Set<SandboxProcess>();

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
    const child = new SandboxProcess(
      { ...command, input: '', isWorker: true },
      {
        onFrame: () => undefined,
        mostOf: (kind) => {
          throw new OddFrame(`an installation sends no frames, and not of kind ${kind}`);
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
