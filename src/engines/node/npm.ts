/**
 * Runs the `npm` that is found on the PATH, bounded in time, and gives its last lines where it fails. In two steps, so that
 * nothing of a package runs while the network is there: what fetches runs no scripts, and what runs scripts fetches nothing.
 */
import { access, constants, mkdir, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { withoutCredentials } from '../../lib/without-credentials.ts';
import { NO_WALLS } from '../../confinement/walls.ts';
import type { Kernel } from '../../confinement/walls.ts';
import { activationFailed } from '../supervisor/packages/errors.ts';
import { InstallRuns } from '../supervisor/packages/install-runs.ts';
import type { Watch } from '../supervisor/packages/install-runs.ts';
import { npmWalls, type NpmStep } from './confinement.ts';
import type { Sources } from './fetch-sources.ts';

export interface NpmOptions {
  readonly installerEnvironment: Readonly<Record<string, string>>;
  readonly installTimeoutMs: number;
  /** Confines its processes. */
  readonly kernel?: Kernel;
  /** Hears all that it said, for the operator. */
  readonly onFailure?: (said: string) => void;
}

/** What npm may fetch from elsewhere than its registry, as its options say it; older ones know the first alone, or none. */
export type NpmSources = Readonly<
  Record<'allow-git' | 'allow-remote' | 'allow-file' | 'allow-directory', 'none' | 'root' | 'all'>
>;

export interface FetchOptions {
  readonly hasLock: boolean;
  readonly sources: Pick<Sources, 'options' | 'environment'>;
  /** In place of the one that all others read and write. */
  readonly cache?: string;
}

export class Npm {
  readonly #options: NpmOptions;
  readonly #cacheFolder: string;
  readonly #use: (folder: string) => Promise<void>;
  readonly #runs: InstallRuns;

  /** @param use marks the cache of the installer as used. */
  constructor(options: NpmOptions, cacheFolder: string, use: (folder: string) => Promise<void>) {
    this.#use = use;
    this.#options = options;
    this.#cacheFolder = cacheFolder;
    this.#runs = new InstallRuns(options.kernel ?? NO_WALLS, options.installTimeoutMs);
  }

  /** The one that all installations read and write which run no code of packages. */
  get cacheFolder(): string {
    return this.#cacheFolder;
  }

  /**
   * Brings packages into `node_modules` of the folder, and runs nothing of them. Its `package.json` and lock file are those
   * of the service.
   * @throws ActivationFailure with the installer's own last lines.
   */
  async fetch(
    folder: string,
    { hasLock, sources, cache = this.#cacheFolder }: FetchOptions,
    limits: Watch,
  ): Promise<void> {
    const given = this.#options.installerEnvironment;
    // One whose registry gives addresses of another host says so.
    const isSet = Object.keys(given).some((name) => /^npm_config_allow_remote$/i.test(name));
    const allowed = Object.entries(sources.options).flatMap(([name, value]) =>
      isSet && name === 'allow-remote' ? [] : [`--${name}=${value}`],
    );
    const args = [hasLock ? 'ci' : 'install', '--ignore-scripts', ...allowed];
    // A proxy that the operator gave reaches what this machine may not.
    const hasProxy = Object.keys(given).some((name) => /^(https?_proxy|npm_config_(https_)?proxy)$/i.test(name));
    const environment = { ...given, ...(!hasProxy && sources.environment) };
    await this.#run(args, { kind: 'fetch', folder, cache, environment }, limits);
  }

  /** Address of the registry that npm is configured for. @param folder an empty one. */
  async registry(folder: string): Promise<string> {
    const environment = this.#options.installerEnvironment;
    const step = { kind: 'fetch', folder, cache: this.#cacheFolder, environment } as const;
    const said = await this.#run(['config', 'get', 'registry'], step, unwatched);
    return said.split('\n').findLast((line) => URL.canParse(line.trim())) ?? '';
  }

  /**
   * Runs the install scripts of packages that are there, by their names. They get no variable that may hold credentials.
   * @param home an empty folder, which may also lie beside what they are built in.
   * @throws ActivationFailure with their last lines.
   */
  async build(folder: string, packages: readonly string[], home: string, limits: Watch): Promise<void> {
    const given = Object.entries(this.#options.installerEnvironment).filter(([name]) => FOR_BUILDS.test(name));
    const environment = { ...Object.fromEntries(given), HOME: home, TMPDIR: home };
    const args = ['rebuild', ...packages, '--offline', '--userconfig=/dev/null', '--foreground-scripts'];
    await this.#run(args, { kind: 'build', folder, cache: home, environment }, limits);
  }

  async #run(
    args: readonly string[],
    { kind, folder, cache, environment }: Omit<NpmStep, 'npm'>,
    watch: Watch,
  ): Promise<string> {
    const npm = await this.#find();
    if (!npm) {
      throw activationFailed('It depends on packages, and no npm was found on the PATH of the runtime to install them');
    }
    // Walls let through what is there when they are laid.
    await mkdir(this.#cacheFolder, { recursive: true });
    await this.#use(this.#cacheFolder);
    const { code, output, problem } = await this.#runs.run({
      command: {
        program: npm.command,
        args: [...npm.args, ...args, ...alwaysGiven, `--prefix=${folder}`, `--cache=${cache}`],
        env: { ...environment, PATH: this.#path() },
        walls: npmWalls({ kind, npm: npm.file, folder, cache, environment }),
        cwd: folder,
      },
      what: 'Installing packages',
      watch,
    });
    if (problem !== undefined) throw activationFailed(problem);
    if (code !== 0) {
      this.#options.onFailure?.(`npm failed: ${withoutCredentials(output).trim()}`);
      throw activationFailed(`Installing packages failed: ${lastLines(output, folder)}`);
    }
    return output;
  }

  kill(): void {
    this.#runs.kill();
  }

  #path(): string {
    return [dirname(process.execPath), this.#options.installerEnvironment['PATH'] ?? ''].join(delimiter);
  }

  async #find(): Promise<{ command: string; args: string[]; file: string } | undefined> {
    for (const folder of this.#path().split(delimiter)) {
      const file = join(folder, 'npm');
      if (!(await isExecutable(file))) continue;
      const target = await realpath(file);
      // Run by this very Node where it is a script, with a guard that ends it when the runtime is gone.
      return /\.[cm]?js$/.test(target)
        ? { command: process.execPath, args: [`--import=${guard}`, target], file: target }
        : { command: file, args: [], file: target };
    }
    return undefined;
  }
}

const unwatched: Watch = () => ({ stop: () => Promise.resolve() });

/** Variables for languages and compilers; settings of npm are only for what fetches. */
const FOR_BUILDS = /^(PATH|LANG|LC_\w+|TZ|NPM_CONFIG_NODEDIR)$/i;

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

/** For people who may know neither this machine nor the registry that it uses. */
function lastLines(text: string, folder: string): string {
  const lines = withoutCredentials(text)
    .replaceAll(`${folder}/`, '')
    .replaceAll(folder, '.')
    .split('\n')
    .map((line) => line.replace(/^npm (error|ERR!) ?/, '').trim())
    .filter((line) => line && !/complete log of this run|\.npm\/_logs|logs-max=0|^path \//.test(line));
  // Where it takes the fault for one of usage, the reason stands before a title and pages of help.
  const usage = lines.indexOf('Usage:');
  if (usage > 0) lines.length = usage - 1;
  const last = lines.slice(-8).join('\n').slice(-1500);
  return withoutHostPaths(withoutAddresses(last)) || 'npm gave no reason';
}

const withoutAddresses = (text: string): string =>
  text
    .replaceAll(/\b(?:git\+)?[a-z]{2,5}:\/\/[^\s'"]+/gi, '…')
    .replaceAll(/\b(ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) \S+/g, '$1 …')
    .replaceAll(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '…');

/** What a program said, for people who may not know where things lie on this machine: absolute paths become `…`. */
export const withoutHostPaths = (text: string): string =>
  text.replaceAll(/(?<=^|[\s'"`(=:,])(?:file:\/\/)?\/(?!\/)[^\s'"`(),;]+/g, '…');
