/** The processes of an installation, which fetch and build: started and ended for the installer. */
import { SandboxProcess } from '../../sandbox/sandbox-process.ts';
import type { ProcessEvents } from '../../sandbox/sandbox-process.ts';
import { OddFrame } from '../../sandbox/frames.ts';
import type { Kernel } from '../../walls/walls.ts';
import type { Python } from './find-python.ts';
import { PYTHON_PROGRAMS } from './python-program.ts';
import { stepWalls } from './python-walls.ts';

/** What the installer asks for. */
export interface InstallStep {
  /** `fetch`: with the network, and without code of packages. `build`: the other way round. */
  readonly kind: 'fetch' | 'build';
  /** For Python. */
  readonly arguments: readonly string[];
  /** In which it starts. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The folder in which it may write, and the cache folder. */
  readonly work: string;
  readonly cache: string;
}

export interface StepEvents {
  onOutput(text: string): void;
  onEnd(code: number): void;
}

const KILLED = 137;

export class InstallSteps {
  readonly #python: Python;
  readonly #kernel: Kernel;
  readonly #running = new Map<number, SandboxProcess>();

  constructor(python: Python, kernel: Kernel) {
    this.#python = python;
    this.#kernel = kernel;
  }

  start(number: number, step: InstallStep, events: StepEvents): void {
    const command = {
      program: this.#python.program,
      args: step.arguments,
      env: step.environment,
      input: '',
      walls: stepWalls(this.#python, PYTHON_PROGRAMS, step),
      cwd: step.folder,
      isWorker: true,
    };
    const told: ProcessEvents = {
      onFrame: () => undefined,
      mostOf: (kind) => {
        throw new OddFrame(`an installation sends no frames, and not of kind ${kind}`);
      },
      onOutput: (_name, stream) => {
        stream.setEncoding('utf8').on('data', (text: string) => events.onOutput(text));
      },
      onExit: (reason) => {
        this.#running.delete(number);
        events.onEnd(Number(/^exit code (\d+)/.exec(reason)?.[1] ?? KILLED));
      },
    };
    this.#running.set(number, new SandboxProcess(command, told, this.#kernel));
  }

  kill(number: number): void {
    this.#running.get(number)?.kill();
  }

  killAll(): void {
    for (const child of this.#running.values()) child.kill();
  }
}
