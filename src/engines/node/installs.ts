/**
 * The packages that a knowledge object depends on, installed for what its `package.json` and lock file say, once:
 * the same values find the same installation again, without the network.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { digestOf, exists } from '../supervisor/packages/cache.ts';
import type { Cache } from '../supervisor/packages/cache.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { sourcesFor } from './fetch-sources.ts';
import type { PackageNetwork } from './fetch-sources.ts';
import { planOf, planToFetch } from './install-plan.ts';
import { install } from './installation.ts';
import type { Installation, InstallationOptions } from './installation.ts';
import type { SharedFetches } from '../supervisor/packages/shared-fetches.ts';
import { tarballsOf } from './lock-file.ts';

export interface WantedPackages {
  /** `<naan>/<name>/<version>`. */
  readonly ko: string;
  /** Key of the object in the cache. */
  readonly objectKey: string;
  /** Path of the `package.json` among the artifacts. */
  readonly packageJson: string;
  /** The install scripts of the packages run. */
  readonly builds: boolean;
  /** What would let them. */
  readonly permission: string;
}

export type InstallsParts = Pick<InstallationOptions, 'npm' | 'timeout' | 'limits'> & {
  readonly network?: PackageNetwork | undefined;
  readonly shared?: SharedFetches | undefined;
};

export class Installs {
  readonly #cache: Cache;
  readonly #parts: InstallsParts;
  readonly #running = new Map<string, Promise<void>>();
  readonly #places = new FairQueue({ limit: 2 });
  readonly #ending = new AbortController();

  constructor(cache: Cache, parts: InstallsParts) {
    this.#cache = cache;
    this.#parts = parts;
  }

  /** Ends what is copied or counted. */
  kill(): void {
    this.#ending.abort();
  }

  /**
   * @returns the key of the installation; undefined where nothing is needed, or the packages are among the artifacts.
   * @throws ActivationFailure with the installer's last lines.
   */
  async provide(wanted: WantedPackages, onStep: (step: string) => void): Promise<string | undefined> {
    const { objectKey, packageJson, builds } = wanted;
    const folder = join(this.#cache.object(objectKey), 'package', posix.dirname(packageJson));
    const plan = await planOf(folder, packageJson);
    if (plan === undefined || (await exists(join(folder, 'node_modules')))) return undefined;
    const { specs, hasLock, identity, prepare } = plan;
    const platform = [process.platform, process.arch, process.versions.modules].join(' ');
    // What it brings itself, and what scripts make of it, is for no other.
    const own = specs.usesOwnFiles || builds || specs.hosts.size > 0 ? objectKey : '';
    const key = digestOf(identity, platform, String(builds), own);
    const registry = (): Promise<string> => this.#cache.stage((empty) => this.#parts.npm.registry(empty));
    await using sources = await sourcesFor({ ...wanted, specs, network: this.#parts.network, registry });
    await this.#cache.use(this.#cache.install(key));
    if (!(await isWhole(this.#cache.install(key)))) {
      onStep('installing dependencies');
      await this.#once(key, () =>
        this.#cache.stage(async (stage) => {
          const { kept } = await this.#shared(specs.usesOwnFiles ? undefined : key, {
            ...this.#parts,
            signal: this.#ending.signal,
            ...{ stage, builds, prepare, onStep },
            fetch: { hasLock, sources },
          });
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
    const { specs, identity, prepare } = planToFetch(dependencies);
    const nobody = { ko: '', permission: '', builds: false, network: undefined, registry: () => Promise.resolve('') };
    await using sources = await sourcesFor({ ...nobody, specs });
    await this.#once(digestOf('fetch', identity), () =>
      this.#cache.stage(async (stage) => {
        const fetch = { hasLock: false, sources };
        await install({
          ...this.#parts,
          signal: this.#ending.signal,
          ...{ stage, fetch, builds: false, prepare, onStep: () => undefined },
        });
      }),
    );
  }

  /** @param key undefined where nobody else has use of what is fetched. */
  async #shared(key: string | undefined, options: InstallationOptions): Promise<Installation> {
    const { shared } = this.#parts;
    if (shared === undefined || key === undefined) return install(options);
    const folder = join(options.stage, 'archives');
    await mkdir(folder);
    let installation: Installation | undefined;
    const lock = await shared.obtain(`node ${key}`, folder, async () => {
      installation = await install(options);
      return tarballsOf(installation.fetched, folder);
    });
    return installation ?? install({ ...options, given: { lock: lock ?? '', folder } });
  }

  #once(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key) ?? this.#places.run('', work).finally(() => this.#running.delete(key));
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
