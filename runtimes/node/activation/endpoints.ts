/** The endpoints of this runtime: how one is activated, and which are active. */
import { join } from 'node:path';
import type { Installs } from '../dependencies/installs.ts';
import { activationFailed } from '../lib/errors.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { Call, type Outcome } from '../workers/call.ts';
import type { Hosts } from '../workers/hosts.ts';
import type { KoHost } from '../workers/ko-host.ts';
import type { Progress } from './activations.ts';
import type { Artifacts } from './artifacts.ts';
import type { Cache } from './cache.ts';
import type { Descriptor } from './descriptor.ts';
import { locateSyntaxError } from './locate-syntax-error.ts';

/** An endpoint as the activator is told of it. */
export interface EndpointAnswer {
  readonly id: string;
  readonly uri: string;
  readonly baseUrl: string;
  /** ISO 8601. */
  readonly activated: string;
  readonly status: 'Activated';
  /** It takes many calls in one request; see `http/calls-in-one-request.ts`. */
  readonly batch: true;
}

export interface Endpoint {
  readonly host: KoHost;
  readonly answer: EndpointAnswer;
  readonly descriptor: Descriptor;
  /** Of the cache, that its code needs. */
  readonly folders: readonly string[];
}

export interface EndpointsParts {
  readonly cache: Cache;
  readonly artifacts: Artifacts;
  readonly installs: Installs;
  readonly hosts: Hosts;
  /** Milliseconds that loading the code may take. */
  readonly loadLimitMs: number;
  /** This runtime's own address. */
  readonly url: () => string;
}

export class Endpoints {
  readonly #parts: EndpointsParts;
  readonly #active = new Map<string, Endpoint>();
  /** Hosts of endpoints that are being activated. */
  readonly #upcoming = new Map<KoHost, number>();
  /** Folders of the cache that activations need which are under way; one may stand here for several. */
  readonly #needed: string[] = [];
  readonly #places = new Semaphore(4);

  constructor(parts: EndpointsParts) {
    this.#parts = parts;
  }

  get(uri: string): Endpoint | undefined {
    return this.#active.get(uri);
  }

  get all(): readonly Endpoint[] {
    return [...this.#active.values()];
  }

  /** Folders of the cache that must stay. */
  get folders(): Iterable<string> {
    return [...this.#needed, ...this.all.flatMap(({ folders }) => folders)];
  }

  /** @throws RuntimeError; the endpoint is then as it was before. */
  async activate(descriptor: Descriptor, progress: Progress): Promise<EndpointAnswer> {
    const needed: string[] = [];
    try {
      return await this.#activate(descriptor, progress, (folder) => {
        needed.push(folder);
        this.#needed.push(folder);
      });
    } finally {
      for (const folder of needed) this.#needed.splice(this.#needed.indexOf(folder), 1);
    }
  }

  /** Lets go of its code, whose calls come to their end. False when it was not active. */
  deactivate(uri: string): boolean {
    const wasActive = this.#active.delete(uri);
    this.#keepUsedHosts();
    return wasActive;
  }

  async #activate(descriptor: Descriptor, progress: Progress, need: (folder: string) => void): Promise<EndpointAnswer> {
    const { cache, artifacts, installs, url } = this.#parts;
    const { uri, entry, packageJson } = descriptor;
    const object = await this.#places.run(() => {
      progress('fetching artifacts');
      return artifacts.provide(descriptor);
    });
    need(cache.object(object));
    const install = packageJson
      ? await installs.provide(object, packageJson, () => progress('installing dependencies'))
      : undefined;
    const folders = [cache.object(object), ...(install ? [cache.install(install)] : [])];
    for (const folder of folders) need(folder);
    const host = await this.#places.run(() => {
      progress('loading');
      const root = join(cache.object(object), 'package');
      return this.#load(descriptor, object, {
        uri,
        file: join(root, entry),
        root,
        function: descriptor.function,
        folders,
      });
    });
    const answer = {
      id: uri,
      uri,
      baseUrl: url(),
      activated: new Date().toISOString(),
      status: 'Activated' as const,
      batch: true as const,
    };
    this.#active.set(uri, { host, answer, descriptor, folders });
    this.#release(host);
    await cache.remember(uri, object);
    return answer;
  }

  async #load(descriptor: Descriptor, object: string, code: Parameters<KoHost['define']>[0]): Promise<KoHost> {
    const host = this.#parts.hosts.host(descriptor.ko, descriptor.checksum ?? object);
    this.#upcoming.set(host, (this.#upcoming.get(host) ?? 0) + 1);
    host.define(code);
    const outcome = await new Promise<Outcome>((resolve) => {
      const input = {
        uri: code.uri,
        kind: 'load',
        body: '',
        json: true,
        depth: 0,
        limit: this.#parts.loadLimitMs,
      } as const;
      host.submit(new Call(input, resolve));
    });
    if (outcome.ok) return host;
    this.#release(host);
    const description = host.withoutHostPaths(outcome.description);
    throw activationFailed(await locateSyntaxError(code.root, descriptor.artifacts, description));
  }

  #release(host: KoHost): void {
    const others = (this.#upcoming.get(host) ?? 1) - 1;
    if (others > 0) this.#upcoming.set(host, others);
    else this.#upcoming.delete(host);
    this.#keepUsedHosts();
  }

  #keepUsedHosts(): void {
    this.#parts.hosts.keepOnly(new Set([...this.#upcoming.keys(), ...this.all.map((endpoint) => endpoint.host)]));
  }
}
