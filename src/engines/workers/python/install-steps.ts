/** The processes of an installation, which fetch and build: started and ended for the installer. */
import type { SandboxProcess } from '../../sandbox/sandbox-process.ts';
import type { Kernel } from '../../walls/walls.ts';
import { startInstall } from '../packages/install-process.ts';
import type { InstallEvents } from '../packages/install-process.ts';
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

export class InstallSteps {
  readonly #python: Python;
  readonly #kernel: Kernel;
  readonly #running = new Map<number, SandboxProcess>();

  constructor(python: Python, kernel: Kernel) {
    this.#python = python;
    this.#kernel = kernel;
  }

  start(number: number, step: InstallStep, events: InstallEvents): void {
    const command = {
      program: this.#python.program,
      args: step.arguments,
      env: step.environment,
      walls: stepWalls(this.#python, PYTHON_PROGRAMS, step),
      cwd: step.folder,
    };
    const onEnd = (code: number): void => {
      this.#running.delete(number);
      events.onEnd(code);
    };
    this.#running.set(number, startInstall(command, { ...events, onEnd }, this.#kernel));
  }

  kill(number: number): void {
    this.#running.get(number)?.kill();
  }

  killAll(): void {
    for (const child of this.#running.values()) child.kill();
  }
}
