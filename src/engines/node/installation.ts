/**
 * One installation of packages. What npm fetches, what install scripts change and what is kept are different folders: between
 * them, only files that were looked at are copied, once all that could write in the first has ended.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { INSTALL_LIMITS, type InstallLimits, type Watch } from '../supervisor/packages/install-runs.ts';
import { giveTarballs } from './lock-file.ts';
import { Trees } from '../supervisor/packages/trees.ts';
import type { FetchOptions, Npm } from './npm.ts';

export interface InstallationOptions {
  /** Empty; all that is written lies in it. */
  readonly stage: string;
  readonly npm: Npm;
  readonly fetch: Omit<FetchOptions, 'cache'>;
  /** The install scripts of the packages run. */
  readonly builds: boolean;
  /** Milliseconds that a copy may take. */
  readonly timeout: number;
  readonly limits?: InstallLimits;
  /** Ends it at once. */
  readonly signal?: AbortSignal;
  /** Writes what npm starts from. */
  readonly prepare: (folder: string) => Promise<void>;
  /** What another node has fetched for it: a lock file, and a folder with archives. */
  readonly given?: { readonly lock: string; readonly folder: string } | undefined;
  readonly onStep: (step: string) => void;
}

export interface Installation {
  /** The folder that is kept. */
  readonly kept: string;
  /** What npm says that it fetched, and began with; and its cache. */
  readonly fetched: { readonly installed: string; readonly manifest: string; readonly cache: string };
}

/** @throws ActivationFailure. */
export async function install(options: InstallationOptions): Promise<Installation> {
  const { stage, npm, builds, timeout, given, limits = INSTALL_LIMITS } = options;
  await using trees = new Trees(limits, timeout);
  options.signal?.addEventListener('abort', () => void trees[Symbol.asyncDispose]());
  const watch: Watch = (onTooMuch) => trees.watch(stage, onTooMuch);
  const [fetched, built, cache, home, kept] = ['fetched', 'built', 'cache', 'home', 'kept'].map((name) =>
    join(stage, name),
  ) as [string, string, string, string, string];
  await mkdir(fetched);
  await options.prepare(fetched);
  if (builds) await mkdir(cache);
  // What scripts put into a cache would reach others.
  const used = builds ? cache : npm.cacheFolder;
  const hasLock = options.fetch.hasLock || given !== undefined;
  if (given !== undefined) {
    await giveTarballs(given.folder, used);
    if (!options.fetch.hasLock) await writeFile(join(fetched, 'package-lock.json'), given.lock);
  }
  const manifest = await readFile(join(fetched, 'package.json'), 'utf8');
  await npm.fetch(fetched, { ...options.fetch, hasLock, ...(builds && { cache }) }, watch);
  const taken = await copied(fetched, builds ? built : kept);
  const installed = await installedIn(taken);
  const installation = { fetched: { installed, manifest, cache: used } };
  const scripted = builds ? scriptedIn(installed) : [];
  if (scripted.length === 0) return { ...installation, kept: taken };
  options.onStep('building dependencies');
  await mkdir(home);
  await npm.build(built, scripted, home, watch);
  return { ...installation, kept: await copied(built, kept) };

  async function copied(from: string, to: string): Promise<string> {
    await trees.copy(from, to);
    return to;
  }
}

/** Names of packages with install scripts, which may be missed. @param installation in which nothing writes any more. */
export const withInstallScripts = async (installation: string): Promise<string[]> =>
  scriptedIn(await installedIn(installation));

const installedIn = (installation: string): Promise<string> =>
  readFile(join(installation, 'node_modules/.package-lock.json'), 'utf8').catch(() => '{}');

function scriptedIn(installed: string): string[] {
  const { packages = {} } = JSON.parse(installed) as { packages?: Record<string, { hasInstallScript?: boolean }> };
  return Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name, index, all) => all.indexOf(name) === index);
}
