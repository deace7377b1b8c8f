/**
 * One installation of packages. What npm fetches, what install scripts change and what is kept are different folders: between
 * them, only files that were looked at are copied, once all that could write in the first has ended.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { INSTALL_LIMITS } from '../packages/install-limits.ts';
import type { InstallLimits } from '../packages/install-limits.ts';
import { Trees } from '../packages/trees.ts';
import type { Watch } from '../packages/install-runs.ts';
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
  readonly onStep: (step: string) => void;
}

/** @returns the folder that is kept. @throws ActivationFailure. */
export async function install(options: InstallationOptions): Promise<string> {
  const { stage, npm, builds, timeout, limits = INSTALL_LIMITS } = options;
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
  await npm.fetch(fetched, { ...options.fetch, ...(builds && { cache }) }, watch);
  if (!builds) return await copied(fetched, kept);
  const scripted = await withInstallScripts(await copied(fetched, built));
  if (scripted.length === 0) return built;
  options.onStep('building dependencies');
  await mkdir(home);
  await npm.build(built, scripted, home, watch);
  return await copied(built, kept);

  async function copied(from: string, to: string): Promise<string> {
    await trees.copy(from, to);
    return to;
  }
}

/** Names of packages with install scripts, which may be missed. @param installation in which nothing writes any more. */
export async function withInstallScripts(installation: string): Promise<string[]> {
  const text = await readFile(join(installation, 'node_modules/.package-lock.json'), 'utf8').catch(() => '{}');
  const { packages = {} } = JSON.parse(text) as { packages?: Record<string, { hasInstallScript?: boolean }> };
  return Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name, index, all) => all.indexOf(name) === index);
}
