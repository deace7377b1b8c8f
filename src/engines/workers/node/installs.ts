/**
 * The packages that a knowledge object depends on, installed for what its `package.json` and lock file say, once:
 * the same two files find the same installation again, without the network.
 */
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { digestOf, exists } from '../packages/cache.ts';
import type { Cache } from '../packages/cache.ts';
import { Semaphore } from '../packages/semaphore.ts';
import { install } from './installation.ts';
import type { InstallationOptions } from './installation.ts';
import { parseManifest, refuseGit } from './manifest.ts';

const lockFiles = ['npm-shrinkwrap.json', 'package-lock.json'];

export interface Builds {
  /** The install scripts of the packages run. */
  readonly builds: boolean;
  /** What would let them. */
  readonly permission: string;
}

export class Installs {
  readonly #cache: Cache;
  readonly #parts: Pick<InstallationOptions, 'npm' | 'timeout' | 'limits'>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #places = new Semaphore(2);

  constructor(cache: Cache, parts: Pick<InstallationOptions, 'npm' | 'timeout' | 'limits'>) {
    this.#cache = cache;
    this.#parts = parts;
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
    const platform = [process.platform, process.arch, process.versions.modules].join(' ');
    // What it brings itself, and what scripts make of it, is for no other.
    const own = manifest.usesOwnFiles || builds ? objectKey : '';
    const key = digestOf(text, lock?.text ?? '', platform, String(builds), own);
    await this.#cache.use(this.#cache.install(key));
    if (!(await isWhole(this.#cache.install(key)))) {
      onStep('installing dependencies');
      const prepare = async (fetched: string): Promise<void> => {
        if (manifest.usesOwnFiles)
          await cp(folder, fetched, { recursive: true, filter: (file) => basename(file) !== '.npmrc' });
        await writeFile(join(fetched, 'package.json'), text);
        if (lock) await writeFile(join(fetched, lock.name), lock.text);
      };
      const sources = { 'allow-git': builds ? 'all' : 'none', 'allow-remote': 'all' } as const;
      await this.#once(key, () =>
        this.#cache.stage(async (stage) => {
          const fetch = { hasLock: lock !== undefined, sources };
          const kept = await install({ ...this.#parts, ...{ stage, fetch, builds, prepare, onStep } });
          await writeFile(join(kept, inventory), JSON.stringify(await packagesIn(kept)), { flush: true });
          // Another runtime on this cache folder may have been as fast, and use it already.
          if (!(await isWhole(this.#cache.install(key)))) await this.#cache.place(kept, this.#cache.install(key));
        }),
      );
    }
    await this.#cache.link(objectKey, key);
    return key;
  }

  /** Fetches packages into the installer's cache, so that knowledge objects can be installed without network. */
  async fetch(dependencies: Readonly<Record<string, string>>): Promise<void> {
    const text = JSON.stringify({ private: true, dependencies });
    parseManifest(text, 'dependencies');
    await this.#once(digestOf('fetch', text), () =>
      this.#cache.stage(async (stage) => {
        const prepare = (folder: string): Promise<void> => writeFile(join(folder, 'package.json'), text);
        const fetch = { hasLock: false, sources: { 'allow-git': 'none', 'allow-remote': 'none' } } as const;
        await install({ ...this.#parts, ...{ stage, fetch, builds: false, prepare, onStep: () => undefined } });
      }),
    );
  }

  #once(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key) ?? this.#places.run(work).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }
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
