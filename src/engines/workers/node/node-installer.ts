/** What code of the engine `node` depends on, by npm. */
import { posix } from 'node:path';
import type { Installed, Installer, Progress, StoredCode } from '../hosted-code.ts';
import type { Cache } from '../packages/cache.ts';
import { Installs } from './installs.ts';
import { locateSyntaxError } from './locate-syntax-error.ts';
import { Npm } from './npm.ts';
import type { NpmOptions } from './npm.ts';

export class NodeInstaller implements Installer {
  readonly installs: Installs;
  readonly #cache: Cache;
  readonly #npm: Npm;

  constructor(cache: Cache, options: NpmOptions, npmCache: string) {
    this.#cache = cache;
    this.#npm = new Npm(options, npmCache, (folder) => cache.use(folder));
    this.installs = new Installs(cache, this.#npm, options.allowInstallScripts);
  }

  async install({ wanted, key }: StoredCode, progress: Progress): Promise<Installed> {
    const manifest = manifestOf(wanted);
    if (manifest === undefined) return { folders: [] };
    const install = await this.installs.provide(key, manifest, () => progress('installing dependencies'));
    return { folders: install === undefined ? [] : [this.#cache.install(install)] };
  }

  explain(problem: string, { root, wanted }: StoredCode): Promise<string> {
    return locateSyntaxError(root, wanted.artifacts, problem);
  }

  kill(): void {
    this.#npm.kill();
  }
}

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
