/** The processes of an installation, which fetch and build: started and ended for the installer. */
import { dirname, join, normalize } from 'node:path';
import type { SandboxProcess } from '../../supervisor/process.ts';
import type { Kernel } from '../../../confinement/walls.ts';
import { startInstall } from '../packages/install-process.ts';
import type { InstallEvents } from '../packages/install-process.ts';
import type { Python } from './find-python.ts';
import { PYTHON_PROGRAMS } from './python-program.ts';
import { installerFolders, stepWalls } from './python-walls.ts';

/** What the installer asks for. */
export interface InstallStep {
  /** `fetch`: with the network, and without code of packages. `build`: the other way round. */
  readonly kind: 'fetch' | 'build';
  /** What the program reads, but for the id of its parent. */
  readonly request: Readonly<Record<string, unknown>>;
  /** In which it starts. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The folder in which it may write. */
  readonly work: string;
}

const PROGRAMS: Record<InstallStep['kind'], readonly string[]> = {
  fetch: ['-I', join(PYTHON_PROGRAMS, 'kgrid_runtime/installer/fetch.py')],
  build: ['-I', '-S', '-B', join(PYTHON_PROGRAMS, 'kgrid_runtime/installer/build.py')],
};

export class InstallSteps {
  readonly #python: Python;
  readonly #kernel: Kernel;
  readonly #cache: string;
  readonly #running = new Map<number, SandboxProcess>();

  constructor(python: Python, kernel: Kernel, cache: string) {
    this.#python = python;
    this.#cache = cache;
    this.#kernel = kernel;
  }

  /** @throws Error for a step that would write elsewhere than in the folder of one installation. */
  start(number: number, step: InstallStep, events: InstallEvents): void {
    const { work, folder } = step;
    const [installing] = installerFolders(this.#cache);
    const isOwn = dirname(dirname(work)) === installing && `${normalize(folder)}/`.startsWith(`${work}/`);
    if (!isOwn || normalize(work) !== work) throw new Error('the installer asked for a folder that is none of its own');
    const command = {
      program: this.#python.program,
      args: [...PROGRAMS[step.kind], JSON.stringify({ ...step.request, parent: process.pid })],
      env: step.environment,
      walls: stepWalls(this.#python, PYTHON_PROGRAMS, step, this.#cache),
      cwd: folder,
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
