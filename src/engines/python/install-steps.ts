/** The programs of an installation, which fetch and build: run for the installer, within its limits. */
import { readdir } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import type { Kernel } from '../../confinement/walls.ts';
import { INSTALL_LIMITS, InstallRuns, type InstallEnd } from '../supervisor/packages/install-runs.ts';
import { type Python, PYTHON_PROGRAMS } from './program.ts';
import { Trees } from '../supervisor/packages/trees.ts';
import type { SharedFetches } from '../supervisor/packages/shared-fetches.ts';
import { installerFolders, stepWalls } from './confinement.ts';

/** What the installer asks for. */
export interface InstallStep {
  /** `fetch`: with the network, and without code of packages. `build`: the other way round. */
  readonly kind: 'fetch' | 'build';
  /** What it does, in words that begin a sentence. */
  readonly what: string;
  /** What the program reads, but for the id of its parent. */
  readonly request: Readonly<Record<string, unknown>>;
  /** In which it starts. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The folder in which it may write. */
  readonly work: string;
}

/** How a fetch is done in two: what is downloaded is shared, and installed from there. */
interface SharedFetch {
  readonly key: string;
  /** Arguments of pip, but for the folder; and those that install, but for the folder and the names. */
  readonly download: readonly string[];
  readonly install: readonly string[];
}

export interface StepLimits {
  readonly limitSeconds: number;
  readonly limitBytes: number;
}

const PROGRAMS: Record<InstallStep['kind'], readonly string[]> = {
  fetch: ['-I', join(PYTHON_PROGRAMS, 'kgrid_runtime/installer/fetch.py')],
  build: ['-I', '-S', '-B', join(PYTHON_PROGRAMS, 'kgrid_runtime/installer/build.py')],
};
/** How pip names the package at which it is. */
const COLLECTING = /^(?:Collecting|Processing) (?:\S*\/)?([\w.-]+)/gm;

export class InstallSteps {
  readonly #python: Python;
  readonly #cache: string;
  readonly #runs: InstallRuns;
  readonly #trees: Trees;
  readonly #shared: SharedFetches | undefined;

  constructor({
    python,
    kernel,
    cache,
    limitSeconds,
    limitBytes,
    shared,
  }: StepLimits & {
    readonly python: Python;
    readonly kernel: Kernel;
    readonly cache: string;
    /** What other nodes have fetched; undefined where there are none. */
    readonly shared?: SharedFetches | undefined;
  }) {
    this.#shared = shared;
    this.#python = python;
    this.#cache = cache;
    this.#runs = new InstallRuns(kernel, limitSeconds * 1000);
    this.#trees = new Trees({ ...INSTALL_LIMITS, bytes: limitBytes }, limitSeconds * 1000);
  }

  /**
   * Resolves when it has ended, with everything that it has started. `onPackage` is told the package that is fetched.
   * @throws Error for a step that would write elsewhere than in the folder of one installation.
   */
  async run(step: InstallStep, onPackage: (name: string) => void): Promise<InstallEnd> {
    const { shared, ...request } = step.request as { readonly shared?: SharedFetch };
    const one = (args?: readonly string[]): Promise<InstallEnd> =>
      this.#run({ ...step, request: { ...request, ...(args && { arguments: args }) } }, onPackage);
    if (shared === undefined || this.#shared === undefined) return one();
    this.#requireOwn(step);
    const folder = join(step.work, 'fetched');
    let failed: InstallEnd | undefined;
    await this.#shared.obtain(`python ${shared.key}`, folder, async () => {
      const end = await one([...shared.download, '--dest', folder]);
      if (end.code === 0 && end.problem === undefined) return { note: '', files: await wheelsIn(folder) };
      failed = end;
      return undefined;
    });
    if (failed !== undefined) return failed;
    const names = (await wheelsIn(folder)).map(({ name }) => name.split('-').slice(0, 2).join('=='));
    return one([...shared.install, '--find-links', folder, ...names]);
  }

  #requireOwn({ work, folder }: InstallStep): void {
    const staging = dirname(work);
    const [installing] = installerFolders(this.#cache);
    const isOwn = dirname(staging) === installing && `${normalize(folder)}/`.startsWith(`${work}/`);
    if (!isOwn || normalize(work) !== work) throw new Error('the installer asked for a folder that is none of its own');
  }

  async #run(step: InstallStep, onPackage: (name: string) => void): Promise<InstallEnd> {
    this.#requireOwn(step);
    const { work, folder, what } = step;
    const staging = dirname(work);
    const end = await this.#runs.run({
      command: {
        program: this.#python.program,
        args: [...PROGRAMS[step.kind], JSON.stringify({ ...step.request, parent: process.pid })],
        env: step.environment,
        walls: stepWalls(this.#python, PYTHON_PROGRAMS, step, this.#cache),
        cwd: folder,
      },
      what,
      watch: (tooMuch) => this.#trees.watch(staging, tooMuch),
      onOutput: (text) => {
        const name = [...text.matchAll(COLLECTING)].at(-1)?.[1];
        if (name !== undefined) onPackage(name);
      },
    });
    // What was written after the last look of the watch counts too; what failed is thrown away.
    const problem = end.code === 0 ? await this.#trees.problemOf(staging) : undefined;
    return { ...end, problem: end.problem ?? problem };
  }

  kill(): void {
    this.#runs.kill();
    void this.#trees[Symbol.asyncDispose]();
  }
}

const WHEEL = /^[\w.!+]+-[\w.!+]+-[\w.!+-]+\.whl$/;

/** What pip has downloaded; whoever reads it follows no link. */
const wheelsIn = async (folder: string): Promise<{ readonly name: string; readonly path: string }[]> =>
  (await readdir(folder).catch(() => []))
    .filter((name) => WHEEL.test(name))
    .map((name) => ({ name, path: join(folder, name) }));
