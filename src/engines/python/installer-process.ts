/**
 * The installer of packages for Python, `runtimes/python/kgrid_runtime/installer/`: one process, started with the first
 * installation and ended after the last. It decides what is fetched and built; what does it is started here.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { lstatSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { NetworkPermission } from '../network/permission.ts';
import { launchOf } from '../../confinement/launch.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Kernel } from '../../confinement/walls.ts';
import type { SharedFetches } from '../supervisor/packages/shared-fetches.ts';
import { activationFailed } from '../supervisor/packages/errors.ts';
import { type Python, PYTHON_PROGRAMS } from './program.ts';
import { InstallSteps } from './install-steps.ts';
import type { InstallStep, StepLimits } from './install-steps.ts';
import { installerFolders, installerWalls } from './confinement.ts';

export interface InstallerOptions extends StepLimits {
  readonly python: Python;
  /** The folder for what is installed. */
  readonly cache: string;
  /** Variables for pip, which may hold credentials: they reach it by standard input. */
  readonly environment: Readonly<Record<string, string>>;
  /** `<naan>/<name>` of KOs whose dependencies may be built from their sources. */
  readonly sourceBuilds: readonly string[];
  /** Confines the processes. */
  readonly kernel: Kernel;
  /** What other nodes have fetched; undefined where there are none. */
  readonly shared?: SharedFetches | undefined;
  /** Hears what the operator should know. */
  readonly onWarning: (text: string) => void;
}

/** What is to be installed for one knowledge object. */
export interface Wanted {
  readonly ko: string;
  /** What tells its files apart from those of other states. */
  readonly key: string;
  readonly root: string;
  /** Path of its `requirements.txt`. */
  readonly requirements: string | undefined;
  /** The package that it is, where it is one. */
  readonly installs: { readonly package?: string; readonly module?: string; readonly folder: string } | undefined;
  /** Which hosts it may name to fetch packages from, beside those of the indexes. */
  readonly network: NetworkPermission | undefined;
}

export interface Result {
  /** Folders with packages. */
  readonly folders: readonly string[];
  /** What to import of the package. */
  readonly module: string | undefined;
}

interface Open {
  readonly progress: (stage: string) => void;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

/** A line of the installer; `__main__.py` there says which there are. */
type Said =
  | { readonly progress: number; readonly text: string }
  | { readonly warning: string }
  | { readonly installed: number; readonly folders: readonly string[]; readonly module: string | null }
  | { readonly failed: number; readonly text: string }
  | ({ readonly run: number } & InstallStep);

const MAX_LAST_WORDS = 500;

export class InstallerProcess {
  readonly #options: InstallerOptions;
  readonly #steps: InstallSteps;
  readonly #open = new Map<number, Open>();
  #child: ChildProcess | undefined;
  #last = 0;

  constructor(options: InstallerOptions) {
    this.#options = options;
    this.#steps = new InstallSteps(options);
  }

  /** @throws ActivationFailure in the words of what installs. */
  async install(asked: Wanted, progress: (stage: string) => void): Promise<Result> {
    const { requirements, installs, network, ...wanted } = asked;
    const hosts = { any: network?.any ?? false, hosts: (network?.hosts ?? []).map(({ host, port }) => [host, port]) };
    const number = ++this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#open.set(number, { progress, resolve, reject });
    this.#child ??= this.#start();
    this.#tell({ install: number, ...wanted, requirements: requirements ?? null, package: installs ?? null, hosts });
    return promise;
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
    this.#steps.kill();
  }

  #start(): ChildProcess {
    const { python, cache, environment, sourceBuilds, limitSeconds, limitBytes } = this.#options;
    // A cache of its own, since confinement closes the user's.
    const pipCache = join(cache, 'pip');
    // Before its walls: they open what is there.
    for (const folder of [pipCache, ...installerFolders(cache)]) mkdirSync(folder, { recursive: true });
    const command = {
      program: python.program,
      // It needs pip, installed beside this Python, to read requirements.
      args: ['-s', '-B', '-X', 'utf8', '-m', 'kgrid_runtime.installer'],
      env: { PATH: environment['PATH'] ?? '', LANG: 'C.UTF-8', PYTHONPATH: PYTHON_PROGRAMS },
    };
    const walls = installerWalls(python, PYTHON_PROGRAMS, cache);
    const { program, args, env } = launchOf(command, walls, this.#options.kernel, 0) ?? command;
    const child = spawn(program, args, { cwd: PYTHON_PROGRAMS, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    child.stdin.on('error', () => undefined);
    this.#child = child;
    const variables = { PIP_CACHE_DIR: pipCache, ...environment };
    this.#tell({ cache, environment: variables, sourceBuilds, seconds: limitSeconds, size: limitBytes });
    let last = '';
    createInterface({ input: child.stdout }).on('line', (line) => {
      try {
        this.#take(JSON.parse(line) as Said);
      } catch (thrown) {
        // It says what it never says.
        last = messageOf(thrown);
        child.kill('SIGKILL');
      }
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (last = (last + text).slice(-MAX_LAST_WORDS)));
    const onEnd = (reason: string): void => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#steps.kill();
      const words = last.trim().split('\n').at(-1) ?? '';
      for (const { reject } of this.#open.values())
        reject(activationFailed(`The installer ended (${reason})${words === '' ? '' : `: ${words}`}`));
      this.#open.clear();
    };
    child.once('error', (error) => onEnd(error.message));
    child.once('close', (code, signal) => onEnd(signal ?? `exit code ${String(code)}`));
    return child;
  }

  #tell(said: Readonly<Record<string, unknown>>): void {
    this.#child?.stdin?.write(`${JSON.stringify(said)}\n`);
  }

  #take(said: Said): void {
    if ('progress' in said) this.#open.get(said.progress)?.progress(said.text);
    else if ('warning' in said) this.#options.onWarning(said.warning);
    else if ('installed' in said)
      this.#settle(said.installed, ({ resolve }) =>
        resolve({ folders: said.folders.filter(this.#isInstalled), module: said.module ?? undefined }),
      );
    else if ('failed' in said) this.#settle(said.failed, ({ reject }) => reject(activationFailed(said.text)));
    else void this.#run(said);
  }

  async #run({ run, ...step }: { readonly run: number } & InstallStep): Promise<void> {
    const child = this.#child;
    const tell = (said: Readonly<Record<string, unknown>>): void => {
      if (this.#child === child) this.#tell({ run, ...said });
    };
    try {
      tell({ end: await this.#steps.run(step, (name) => tell({ fetching: name })) });
    } catch {
      // It asked for what it never asks for, or its folders cannot be looked at.
      child?.kill('SIGKILL');
    }
  }

  /** Only such folders may code read. */
  readonly #isInstalled = (folder: string): boolean =>
    dirname(folder) === join(this.#options.cache, 'installs') && lstatSync(folder).isDirectory();

  #settle(number: number, how: (open: Open) => void): void {
    const open = this.#open.get(number);
    this.#open.delete(number);
    if (open !== undefined) how(open);
    if (this.#open.size > 0) return;
    this.#child?.stdin?.end();
    this.#child = undefined;
  }
}
