/** All loaded endpoints at one moment: never changed, but replaced as a whole. */
import type { KoId } from '../knowledge-object/id.ts';
import { compareVersions } from '../knowledge-object/version-order.ts';
import type { CallScope } from '../engines/engine.ts';
import type { Endpoint } from './endpoint.ts';

/** A KO of which nothing could be loaded. */
export interface LoadFailure {
  readonly id: KoId;
  readonly cause: string;
}

export class EndpointSet implements CallScope {
  /** Ordered by naan, name, API version, KO version and endpoint. */
  readonly endpoints: readonly Endpoint[];
  readonly failures: readonly LoadFailure[];
  /** `<naan>/<name>/<version>/<endpoint>`, by API version and by KO version. */
  readonly #versioned = new Map<string, Endpoint>();
  /** `<naan>/<name>/<endpoint>`: the newest API version first. */
  readonly #unversioned = new Map<string, Endpoint[]>();

  constructor(endpoints: readonly Endpoint[], failures: readonly LoadFailure[]) {
    this.endpoints = endpoints.toSorted(byAddress);
    this.failures = failures;
    for (const each of this.endpoints) this.#versioned.set(each.id, each);
    for (const each of this.endpoints.toReversed()) {
      const { naan, name, version } = each.ko.id;
      // "The segment or `v` is matched with API versions first, then with KO versions."
      const byKoVersion = `${naan}/${name}/${version}/${each.name}`;
      if (!this.#versioned.has(byKoVersion)) this.#versioned.set(byKoVersion, each);
      const versions = this.#unversioned.get(each.address) ?? [];
      versions.push(each);
      this.#unversioned.set(each.address, versions);
    }
  }

  /** The endpoint of `<naan>/<name>/<version>/<endpoint>`, whatever its status. */
  versioned(key: string): Endpoint | undefined {
    return this.#versioned.get(key);
  }

  /** All API versions of `<naan>/<name>/<endpoint>`, the newest first. */
  versions(key: string): readonly Endpoint[] {
    return this.#unversioned.get(key) ?? [];
  }

  /** The default version: the newest that is active, or that may yet become so. */
  newest(key: string): Endpoint | undefined {
    return this.versions(key).find((each) => each.status !== 'FAILED_TO_ACTIVATE');
  }

  find(id: string): Endpoint | undefined {
    const key = id.replace(/^\/+|\/+$/g, '');
    const found = this.#versioned.get(key) ?? this.newest(key);
    return found?.status === 'FAILED_TO_ACTIVATE' ? undefined : found;
  }
}

function byAddress(a: Endpoint, b: Endpoint): number {
  return (
    compareText(a.ko.id.naan, b.ko.id.naan) ||
    compareText(a.ko.id.name, b.ko.id.name) ||
    compareVersions(a.apiVersion, b.apiVersion) ||
    compareVersions(a.ko.id.version, b.ko.id.version) ||
    compareText(a.name, b.name)
  );
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
