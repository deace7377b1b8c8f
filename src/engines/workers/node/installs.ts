/**
 * The packages that a knowledge object depends on, installed for what its `package.json` and lock file say, once:
 * the same two files find the same installation again, without the network.
 */
import { cp, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, join, posix, sep } from 'node:path';
import { digestOf, exists } from '../packages/cache.ts';
import type { Cache } from '../packages/cache.ts';
import { activationFailed } from '../packages/errors.ts';
import { Semaphore } from '../packages/semaphore.ts';
import { parseManifest, refuseGit } from './manifest.ts';
import type { Npm } from './npm.ts';

const lockFiles = ['npm-shrinkwrap.json', 'package-lock.json'];

export interface Builds {
  /** The install scripts of the packages run. */
  readonly builds: boolean;
  /** What would let them. */
  readonly permission: string;
}

export class Installs {
  readonly #cache: Cache;
  readonly #npm: Npm;
  readonly #running = new Map<string, Promise<void>>();
  readonly #places = new Semaphore(2);

  constructor(cache: Cache, npm: Npm) {
    this.#cache = cache;
    this.#npm = npm;
  }

  /**
   * @param packageJson its path among the artifacts.
   * @returns the key of the installation; undefined where nothing is needed, or the packages are among the artifacts.
   * @throws ActivationFailure with the installer's last lines.
   */
  async provide(
    objectKey: string,
    packageJson: string,
    { builds, permission }: Builds,
    onStep: (step: string) => void,
  ): Promise<string | undefined> {
    const folder = join(this.#cache.object(objectKey), 'package', posix.dirname(packageJson));
    const text = await readFile(join(folder, 'package.json'), 'utf8');
    const manifest = parseManifest(text, packageJson);
    if (!manifest.needsInstall || (await exists(join(folder, 'node_modules')))) return undefined;

    const lock = await readLock(folder);
    if (!builds) refuseGit(manifest, packageJson, permission, lock?.text);
    const platform = [process.platform, process.arch, process.versions.modules, builds].join(' ');
    const key = digestOf(text, lock?.text ?? '', platform, manifest.usesOwnFiles ? objectKey : '');
    await this.#cache.use(this.#cache.install(key));
    if (!(await isWhole(this.#cache.install(key)))) {
      onStep('installing dependencies');
      await this.#once(key, async () => {
        await this.#cache.stage(async (staging) => {
          if (manifest.usesOwnFiles)
            await cp(folder, staging, { recursive: true, filter: (file) => basename(file) !== '.npmrc' });
          await writeFile(join(staging, 'package.json'), text);
          if (lock) await writeFile(join(staging, lock.name), lock.text);
          await this.#npm.fetch(staging, lock !== undefined, builds ? 'allowed' : 'refused');
          await refuseLinksOutside(staging);
          const scripted = builds ? await withInstallScripts(staging) : [];
          if (scripted.length > 0) {
            onStep('building dependencies');
            await this.#npm.build(staging, scripted);
            await refuseLinksOutside(staging);
          }
          await writeFile(join(staging, inventory), JSON.stringify(await packagesIn(staging)), { flush: true });
          // Another runtime on this cache folder may have been as fast, and use it already.
          if (!(await isWhole(this.#cache.install(key)))) await this.#cache.place(staging, this.#cache.install(key));
        });
      });
    }
    await this.#cache.link(objectKey, key);
    return key;
  }

  /** Fetches packages into the installer's cache, so that knowledge objects can be installed without network. */
  async fetch(dependencies: Readonly<Record<string, string>>): Promise<void> {
    const text = JSON.stringify({ private: true, dependencies });
    parseManifest(text, 'dependencies');
    await this.#once(digestOf('fetch', text), () =>
      this.#cache.stage(async (staging) => {
        await writeFile(join(staging, 'package.json'), text);
        await this.#npm.fetch(staging, false, 'refused');
      }),
    );
  }

  #once(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key) ?? this.#places.run(work).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }
}

/** Names of packages with install scripts, which may be missed. */
export async function withInstallScripts(installation: string): Promise<string[]> {
  const text = await readFile(join(installation, 'node_modules/.package-lock.json'), 'utf8').catch(() => '{}');
  const { packages = {} } = JSON.parse(text) as { packages?: Record<string, { hasInstallScript?: boolean }> };
  return Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name, index, all) => all.indexOf(name) === index);
}

/** The list of what was installed: without it, or where something of it is missing, it is installed anew. */
const inventory = 'installed.json';

async function isWhole(installation: string): Promise<boolean> {
  const known = await readFile(join(installation, inventory), 'utf8').catch(() => undefined);
  return known !== undefined && known === JSON.stringify(await packagesIn(installation));
}

const packagesIn = async (installation: string): Promise<string[]> =>
  (await readdir(join(installation, 'node_modules')).catch(() => [])).sort();

async function readLock(folder: string): Promise<{ name: string; text: string } | undefined> {
  for (const name of lockFiles) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => undefined);
    if (text !== undefined) return { name, text };
  }
  return undefined;
}

/** Reading follows links, so one that leads out of the installation would give the code files of the host. */
async function refuseLinksOutside(folder: string): Promise<void> {
  const root = (await realpath(folder)) + sep;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const target = await realpath(join(entry.parentPath, entry.name)).catch(() => '');
    if (!target.startsWith(root))
      throw activationFailed(`The package ${entry.name} is a link out of the knowledge object`);
  }
}
