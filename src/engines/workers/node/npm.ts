/**
 * Runs the `npm` that is found on the PATH, bounded in time, and gives its last lines where it fails. In two steps, so that
 * nothing of a package runs while the network is there: what fetches runs no scripts, and what runs scripts fetches nothing.
 */
import { spawn } from 'node:child_process';
import { access, constants, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { seconds } from '../call-failure.ts';
import { activationFailed } from '../packages/errors.ts';

export interface NpmOptions {
  readonly installerEnvironment: Readonly<Record<string, string>>;
  readonly installTimeoutMs: number;
}

/** What may come from a repository of git, which npm prepares by the code in it. */
export type FromGit = 'refused' | 'allowed';

export class Npm {
  readonly #options: NpmOptions;
  readonly #cacheFolder: string;
  readonly #use: (folder: string) => Promise<void>;
  readonly #running = new Set<number>();

  /** @param use marks the cache of the installer as used. */
  constructor(options: NpmOptions, cacheFolder: string, use: (folder: string) => Promise<void>) {
    this.#use = use;
    this.#options = options;
    this.#cacheFolder = cacheFolder;
  }

  /**
   * Brings packages into `node_modules`, and runs nothing of them.
   * @throws ActivationFailure with the installer's own last lines.
   */
  async fetch(folder: string, hasLock: boolean, fromGit: FromGit): Promise<void> {
    const git = fromGit === 'allowed' ? [] : ['--allow-git=none'];
    await this.#run(
      folder,
      [hasLock ? 'ci' : 'install', '--ignore-scripts', ...git],
      this.#options.installerEnvironment,
    );
  }

  /**
   * Runs the install scripts of packages that are there, by their names. They get no variable that may hold credentials.
   * @throws ActivationFailure with their last lines.
   */
  async build(folder: string, packages: readonly string[]): Promise<void> {
    const given = Object.entries(this.#options.installerEnvironment).filter(([name]) => FOR_BUILDS.test(name));
    const environment = { ...Object.fromEntries(given), HOME: folder };
    const args = ['rebuild', ...packages, '--offline', '--userconfig=/dev/null', '--foreground-scripts'];
    await this.#run(folder, args, environment);
  }

  async #run(folder: string, args: readonly string[], environment: Readonly<Record<string, string>>): Promise<void> {
    const npm = await this.#find();
    if (!npm) {
      throw activationFailed('It depends on packages, and no npm was found on the PATH of the runtime to install them');
    }
    await this.#use(this.#cacheFolder);
    const child = spawn(npm.command, [...npm.args, ...args, ...alwaysGiven, `--cache=${this.#cacheFolder}`], {
      cwd: folder,
      env: { ...environment, PATH: this.#path() },
      // The first of the extra pipes tells the guard that the runtime is alive.
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const { pid } = child;
    if (pid) this.#running.add(pid);
    let tail = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString('utf8')).slice(-16_000)));
    }
    let expired = false;
    const timer = setTimeout(() => {
      expired = true;
      killGroup(pid);
    }, this.#options.installTimeoutMs);
    const code = await new Promise<number | null>((resolve) => {
      child.once('error', () => resolve(null));
      child.once('close', resolve);
    });
    clearTimeout(timer);
    if (pid) this.#running.delete(pid);
    if (expired)
      throw activationFailed(`Installing packages passed its limit of ${seconds(this.#options.installTimeoutMs)}`);
    if (code !== 0) throw activationFailed(`Installing packages failed: ${lastLines(tail, folder)}`);
  }

  kill(): void {
    for (const pid of this.#running) killGroup(pid);
  }

  #path(): string {
    return [dirname(process.execPath), this.#options.installerEnvironment['PATH'] ?? ''].join(delimiter);
  }

  async #find(): Promise<{ command: string; args: string[] } | undefined> {
    for (const folder of this.#path().split(delimiter)) {
      const file = join(folder, 'npm');
      if (!(await isExecutable(file))) continue;
      const target = await realpath(file);
      // Run by this very Node where it is a script, with a guard that ends it when the runtime is gone.
      return /\.[cm]?js$/.test(target)
        ? { command: process.execPath, args: [`--import=${guard}`, target] }
        : { command: file, args: [] };
    }
    return undefined;
  }
}

/** Of languages and compilers; the cache of npm and its settings are for what fetches. */
const FOR_BUILDS = /^(PATH|TMPDIR|LANG|LC_\w+|TZ|NPM_CONFIG_NODEDIR)$/i;

const guard = `data:text/javascript,${encodeURIComponent(`
import { Socket } from 'node:net';
const pipe = new Socket({ fd: 3 });
pipe.on('error', () => {}).on('close', () => process.kill(-process.pid, 'SIGKILL')).resume().unref();
`)}`;

const alwaysGiven = [
  '--omit=dev',
  '--install-links',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
  '--no-progress',
  '--loglevel=error',
  '--logs-max=0',
];

const isExecutable = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

function killGroup(pid: number | undefined): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

function lastLines(text: string, folder: string): string {
  const lines = text
    .replaceAll(folder, '.')
    .replace(/\/\/[^/@\s]+@/g, '//')
    .split('\n')
    .map((line) => line.replace(/^npm (error|ERR!) ?/, '').trim())
    .filter((line) => line && !/complete log of this run|\.npm\/_logs|logs-max=0|^path \//.test(line));
  // Where it takes the fault for one of usage, the reason stands before a title and pages of help.
  const usage = lines.indexOf('Usage:');
  if (usage > 0) lines.length = usage - 1;
  return lines.slice(-8).join('\n').slice(-1500) || 'npm gave no reason';
}
