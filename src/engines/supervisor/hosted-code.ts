/** Brings the code of endpoints into the cache folder, with the packages it depends on, and into the workers. */
import { join } from 'node:path';
import type { HostPort } from '../../lib/host-port.ts';
import type { EndpointPlan } from '../engine.ts';
import type { KoPool } from './ko-pool.ts';
import { Artifacts } from './packages/artifacts.ts';
import type { WantedArtifacts } from './packages/artifacts.ts';
import type { Cache } from './packages/cache.ts';
import { activationFailed, installFailure } from './packages/errors.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import type { KoPools } from './ko-pools.ts';
import type { EndpointCode } from './adapter.ts';

/** An endpoint that is to be run. */
export interface WantedCode extends Omit<WantedArtifacts, 'variant'> {
  /** Path of the entry module, one of the artifacts. */
  readonly entry: string;
  readonly function: string;
  /** Gives the names of the functions that `entry` exports. */
  readonly listsExports?: true | undefined;
  /** It was seen to load just now. */
  readonly isLoaded?: true | undefined;
  /** What its deployment asks for. */
  readonly network?: readonly HostPort[] | undefined;
  /** Of code that is a package to install. */
  readonly installs?: EndpointPlan['installs'];
}

/** Where the code of an endpoint lies. */
export interface StoredCode {
  readonly wanted: WantedCode;
  /** Of the object in the cache. */
  readonly key: string;
  /** Folder of the knowledge object. */
  readonly root: string;
}

export interface Installed {
  /** Folders with packages. */
  readonly folders: readonly string[];
  /** What tells its workers from those of other endpoints of its knowledge object, where they cannot share one. */
  readonly apart?: string;
  /** What workers are told of them. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** What one engine does with code before it runs. */
export interface Installer {
  /** What of the code, beside its files, decides over what is installed. */
  variantOf(wanted: WantedCode): string;
  /** Installs what the code depends on. @throws ActivationFailure in the words of what installs. */
  install(code: StoredCode, progress: Progress): Promise<Installed>;
  /** Says more of why code does not load. */
  explain(problem: string, code: StoredCode): Promise<string>;
  /** Ends what it has started. */
  kill(): void;
}

/** Says what goes on, for those who wait. */
export type Progress = (stage: string) => void;

/** An endpoint that can be called, until it is released. */
export interface HostedEndpoint {
  readonly host: KoPool;
  readonly uri: string;
  /** It loads; false where that was taken as known, so that its first call shows it. */
  readonly wasLoaded: boolean;
  /** Runs records in workers of their own, so that no single call waits for those, or falls to them. */
  hostOfRecords(): Promise<KoPool>;
  /** Lets go of its code, whose calls come to their end. May be called twice. */
  release(): void;
}

export interface HostedCodeParts {
  readonly cache: Cache;
  readonly pool: KoPools;
  readonly installer: Installer;
  /** Use what an endpoint had last, whatever its checksum is now. */
  readonly loadFromCache?: boolean;
}

/** Endpoints that are brought in at the same time. */
const AT_ONCE = 4;

export class HostedCode {
  readonly #parts: HostedCodeParts;
  readonly #artifacts: Artifacts;
  /** How many endpoints need each. */
  readonly #hosts = new Map<KoPool, number>();
  readonly #folders = new Map<string, number>();
  readonly #places = new FairQueue({ limit: AT_ONCE });

  constructor(parts: HostedCodeParts) {
    this.#parts = parts;
    this.#artifacts = new Artifacts(parts.cache, parts.loadFromCache);
  }

  /** Folders of the cache that must stay. */
  get folders(): Iterable<string> {
    return [...this.#folders.keys(), ...this.#parts.pool.scratchFolders];
  }

  /**
   * `isKnown`: whether code of that key was seen to load before, which is believed.
   * @throws ActivationFailure.
   */
  async activate(
    wanted: WantedCode,
    progress: Progress,
    isKnown: (key: string) => boolean = () => false,
  ): Promise<HostedEndpoint> {
    const { cache, installer } = this.#parts;
    await using needed = new AsyncDisposableStack();
    const need = (folder: string): void => {
      add(this.#folders, folder);
      needed.defer(() => void take(this.#folders, folder));
    };
    const key = await this.#places.run('', () => {
      progress('fetching artifacts');
      const stored = this.#artifacts.provide({ ...wanted, variant: installer.variantOf(wanted) });
      return stored.catch((thrown: unknown) => {
        throw installFailure(thrown);
      });
    });
    const root = join(cache.object(key), 'package');
    need(cache.object(key));
    const code: StoredCode = { wanted, key, root };
    const installed = await installer.install(code, progress).catch((thrown: unknown) => {
      throw installFailure(thrown);
    });
    installed.folders.forEach(need);
    const folders = [cache.object(key), ...installed.folders];
    const state = `${wanted.checksum ?? key} ${installed.apart ?? ''}`;
    const host = await this.#hostFor(wanted.ko, state, false, needed);
    const { listsExports } = wanted;
    const more = listsExports === true ? { ...installed.more, listsExports } : installed.more;
    const known =
      isKnown([key, wanted.uri, wanted.entry, wanted.function, ...installed.folders].join('\n')) ||
      wanted.isLoaded === true;
    const definition: EndpointCode = {
      uri: wanted.uri,
      file: join(root, wanted.entry),
      root,
      function: wanted.function,
      folders,
      network: wanted.network,
      ...(more && { more }),
    };
    host.define(definition);
    if (!known) await this.#load(host, code, progress);
    await cache.remember(wanted.uri, key);
    const all = needed.move();
    let ofRecords: Promise<KoPool> | undefined;
    const hostOfRecords = async (): Promise<KoPool> => {
      const made = await this.#hostFor(wanted.ko, state, true, all);
      made.define(definition);
      return made;
    };
    return {
      host,
      uri: wanted.uri,
      wasLoaded: !known,
      hostOfRecords: () =>
        (ofRecords ??= hostOfRecords().catch((thrown: unknown) => {
          ofRecords = undefined;
          throw thrown;
        })),
      release: () => void all.disposeAsync(),
    };
  }

  async #hostFor(ko: string, state: string, forRecords: boolean, needed: AsyncDisposableStack): Promise<KoPool> {
    const { pool } = this.#parts;
    const host = pool.host(ko, state, forRecords);
    add(this.#hosts, host);
    needed.defer(() => {
      if (take(this.#hosts, host)) pool.keepOnly(new Set(this.#hosts.keys()));
    });
    await host.openNetwork();
    return host;
  }

  async #load(host: KoPool, code: StoredCode, progress: Progress): Promise<void> {
    const problem = await this.#places.run('', () => {
      progress('loading');
      return host.load(code.wanted.uri);
    });
    if (problem !== '') throw activationFailed(await this.#parts.installer.explain(problem, code));
  }
}

const add = <T>(counts: Map<T, number>, key: T): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

/** True where nothing needs it any more. */
function take<T>(counts: Map<T, number>, key: T): boolean {
  const left = (counts.get(key) ?? 1) - 1;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
  return left <= 0;
}
