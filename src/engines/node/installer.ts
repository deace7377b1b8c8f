/** What code of the engine `node` depends on, by npm. */
import { execFile } from 'node:child_process';
import { posix, join } from 'node:path';
import { promisify } from 'node:util';
import type { Installed, Installer, Progress, StoredCode, WantedCode } from '../supervisor/hosted-code.ts';
import type { Cache } from '../supervisor/packages/cache.ts';
import type { SharedFetches } from '../supervisor/packages/shared-fetches.ts';
import type { PackageNetwork } from './fetch-sources.ts';
import { withInstallScripts } from './installation.ts';
import { Installs } from './installs.ts';
import { Npm, type NpmOptions } from './npm.ts';

export interface NodeInstallerOptions extends NpmOptions {
  /** Whether the install scripts of all packages run. */
  readonly allowInstallScripts: boolean;
  /** `<naan>/<name>` of knowledge objects for which they run otherwise. */
  readonly sourceBuilds?: readonly string[];
  /** What may be fetched from elsewhere than the registries of npm; nothing where it is left out. */
  readonly network?: PackageNetwork | undefined;
  readonly shared?: SharedFetches | undefined;
}

export class NodeInstaller implements Installer {
  readonly installs: Installs;
  readonly #options: NodeInstallerOptions;
  readonly #cache: Cache;
  readonly #npm: Npm;

  constructor(cache: Cache, options: NodeInstallerOptions, npmCache: string) {
    this.#cache = cache;
    this.#options = options;
    this.#npm = new Npm(options, npmCache, (folder) => cache.use(folder));
    this.installs = new Installs(cache, {
      ...{ npm: this.#npm, timeout: options.installTimeoutMs, network: options.network, shared: options.shared },
    });
  }

  variantOf(wanted: WantedCode): string {
    return manifestOf(wanted) ?? '';
  }

  async install({ wanted, key }: StoredCode, progress: Progress): Promise<Installed> {
    await this.#cache.endScope(key);
    const manifest = manifestOf(wanted);
    if (manifest === undefined) return { folders: [] };
    const install = await this.installs.provide(
      {
        ...{ ko: wanted.ko, objectKey: key, packageJson: manifest },
        ...{ builds: this.#builds(wanted), permission: permission(wanted) },
      },
      progress,
    );
    return { folders: install === undefined ? [] : [this.#cache.install(install)] };
  }

  async explain(problem: string, { root, wanted, key }: StoredCode): Promise<string> {
    const located = await locateSyntaxError(root, wanted.artifacts, problem);
    if (this.#builds(wanted) || problem.includes(' is a native addon') || !MAY_LACK_A_BUILD.test(problem))
      return located;
    // Beside the packages, which are linked there.
    const scripted = await withInstallScripts(this.#cache.object(key));
    return scripted.length === 0
      ? located
      : `${located} (the install scripts of ${scripted.slice(0, MOST_NAMES).join(', ')} did not run; ${permission(wanted)} permits that)`;
  }

  #builds(wanted: WantedCode): boolean {
    const { allowInstallScripts, sourceBuilds = [] } = this.#options;
    return allowInstallScripts || sourceBuilds.includes(nameOf(wanted));
  }

  kill(): void {
    this.#npm.kill();
    this.installs.kill();
  }
}

/** `<naan>/<name>`. */
const nameOf = ({ ko }: WantedCode): string => ko.slice(0, ko.lastIndexOf('/'));
const permission = (wanted: WantedCode): string => `--allow-source-builds ${nameOf(wanted)}`;
const MOST_NAMES = 10;
/** What is said where a file is missing that a script would have made, or fetched. */
const MAY_LACK_A_BUILD =
  /cannot find|could not (find|load|locate)|no such file|not found|dlopen|bindings?\b|native|\.node\b|\.wasm\b/i;

/** Path of the `package.json` that is nearest to the entry, of those among the artifacts. */
export function manifestOf({
  artifacts,
  entry,
}: {
  readonly artifacts: readonly string[];
  readonly entry: string;
}): string | undefined {
  for (let folder = posix.dirname(entry); ; folder = posix.dirname(folder)) {
    const path = posix.join(folder, 'package.json');
    if (artifacts.includes(path)) return path;
    if (folder === '.') return undefined;
  }
}

const run = promisify(execFile);
const maxFiles = 50;

/**
 * @param root folder of the knowledge object.
 * @param description what the worker says, `SyntaxError: …`.
 * @returns the description with the place, `… (src/a.mjs line 3)`, where one of the modules has this very error.
 */
export async function locateSyntaxError(
  root: string,
  modules: readonly string[],
  description: string,
): Promise<string> {
  if (!description.startsWith('SyntaxError: ') || / line \d+\)$/.test(description)) return description;
  for (const module of modules.filter((path) => /\.m?js$/.test(path)).slice(0, maxFiles)) {
    const file = join(root, module);
    // Parses and runs nothing.
    const output = await run(process.execPath, ['--check', file], { env: {}, timeout: 5_000 }).then(
      () => '',
      (error: unknown) => String((error as { stderr?: unknown }).stderr),
    );
    const place = output.split('\n').find((text) => text.includes(`${file}:`));
    const line = /:(\d+)$/.exec(place ?? '')?.[1];
    if (line && output.includes(description)) return `${description} (${module} line ${line})`;
  }
  return description;
}
