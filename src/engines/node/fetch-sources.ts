/** From where packages may be fetched: the registries of npm, and what the operator allowed that knowledge object. */
import type { NetworkAccess } from '../network/access.ts';
import { activationFailed } from '../supervisor/packages/errors.ts';
import type { DependencySpecs } from './dependency-specs.ts';
import type { NpmSources } from './npm.ts';

/** What the operator allowed. */
export interface PackageNetwork {
  /** Why nothing may come from a host; undefined where it may. @param ko `<naan>/<name>/<version>`. @param host `host:port`. */
  refusal(ko: string, host: string): Promise<string | undefined>;
  /** Opens the network to what is allowed, and to nothing else. */
  open(ko: string, asking: () => Iterable<never>): Promise<NetworkAccess>;
}

export interface SourcesOptions {
  /** `<naan>/<name>/<version>`. */
  readonly ko: string;
  readonly specs: DependencySpecs;
  /** The install scripts of its packages run. */
  readonly builds: boolean;
  /** What would let them. */
  readonly permission: string;
  readonly network: PackageNetwork | undefined;
  /** Address of the registry that npm is configured for. */
  registry(): Promise<string>;
}

/** What npm is given for one fetch. */
export interface Sources extends AsyncDisposable {
  readonly options: NpmSources;
  readonly environment: Readonly<Record<string, string>>;
}

/** @throws ActivationFailure that says what to do. */
export async function sourcesFor(options: SourcesOptions): Promise<Sources> {
  const { ko, specs, builds, permission, network } = options;
  const [fromGit] = specs.fromGit;
  if (fromGit !== undefined && !builds)
    throw activationFailed(
      `${fromGit} comes from git, and may be built while the network is open: take it from a registry; ${permission} permits that`,
    );
  const own = specs.areNested ? 'all' : 'root';
  const npm: NpmSources = {
    'allow-git': fromGit === undefined ? 'none' : 'root',
    'allow-remote': specs.remotes.size === 0 ? 'none' : 'root',
    'allow-file': own,
    'allow-directory': own,
  };
  const nothing = { options: npm, environment: {}, [Symbol.asyncDispose]: () => Promise.resolve() };
  if (specs.hosts.size === 0) return nothing;
  const registry = URL.parse(await options.registry());
  const ofRegistry = registry && `${registry.hostname}:${registry.port || (registry.protocol === 'http:' ? 80 : 443)}`;
  const others = [...specs.hosts].filter(([host]) => host !== ofRegistry);
  for (const [host, what] of others) {
    const refusal = network === undefined ? 'no registry of npm' : await network.refusal(ko, host);
    if (refusal !== undefined)
      throw activationFailed(`${what}: take it from the registry, or put it into the package (${refusal})`);
  }
  if (others.length === 0 || network === undefined) return nothing;
  // Redirections, and names that lead elsewhere the next time, meet the same rules.
  const access = await network.open(ko, () => []);
  const around = registry === null ? '' : registry.hostname;
  return {
    options: npm,
    environment: { ...access.environment, NO_PROXY: around, no_proxy: around },
    [Symbol.asyncDispose]: () => access[Symbol.asyncDispose](),
  };
}
