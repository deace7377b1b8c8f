/** The endpoints of all versions of one KO: an id begins with `<naan>/<name>/`, so that no others can meet them. */
import type { EndpointMethod } from './endpoint-set.ts';
import type { Endpoint } from './endpoint.ts';

export class NameEndpoints {
  /** Ordered by API version, KO version and endpoint. */
  readonly endpoints: readonly Endpoint[];
  /** `<naan>/<name>/<version>/<endpoint>`, by API version and by KO version. */
  readonly #versioned = { post: new Map<string, Endpoint>(), get: new Map<string, Endpoint>() };
  /** `<naan>/<name>/<endpoint>`: the newest API version first. */
  readonly #unversioned = new Map<string, Endpoint[]>();

  /** `endpoints`: in their order. */
  constructor(endpoints: readonly Endpoint[]) {
    this.endpoints = endpoints;
    for (const each of endpoints) this.#versioned[methodOf(each)].set(each.id, each);
    for (const each of endpoints.toReversed()) {
      const { naan, name, version } = each.ko.id;
      // "The segment or `v` is matched with API versions first, then with KO versions."
      const byKoVersion = `${naan}/${name}/${version}/${each.name}`;
      const versioned = this.#versioned[methodOf(each)];
      if (!versioned.has(byKoVersion)) versioned.set(byKoVersion, each);
      const versions = this.#unversioned.get(each.address) ?? [];
      versions.push(each);
      this.#unversioned.set(each.address, versions);
    }
  }

  versioned(key: string, method: EndpointMethod): Endpoint | undefined {
    return this.#versioned[method].get(key) ?? this.#versioned[method === 'post' ? 'get' : 'post'].get(key);
  }

  versions(key: string): readonly Endpoint[] {
    return this.#unversioned.get(key) ?? [];
  }
}

/** What has another method fails to activate, and is listed among the code. */
export const methodOf = ({ entry }: Endpoint): EndpointMethod => (entry.method === 'get' ? 'get' : 'post');
