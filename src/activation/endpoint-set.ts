/** All loaded endpoints at one moment: never changed, but replaced as a whole. */
import type { KoId } from '../knowledge-object/id.ts';
import { compareVersions } from '../knowledge-object/version-order.ts';
import { withoutSlashes } from '../lib/text.ts';
import type { CallScope } from '../engines/engine.ts';
import type { Endpoint } from './endpoint.ts';

/** "An HTTP method key (`post` or `get`)": one path may have both. */
export type EndpointMethod = 'post' | 'get';

/** A KO of which nothing could be loaded. */
export interface LoadFailure {
  readonly id: KoId;
  readonly cause: string;
  /** True where it is tried again: the knowledge object could not be read at that moment. */
  readonly passing?: boolean;
}

export class EndpointSet implements CallScope {
  /** Ordered by naan, name, API version, KO version and endpoint. */
  readonly endpoints: readonly Endpoint[];
  readonly failures: readonly LoadFailure[];
  /** Of the id with the most. */
  readonly mostSegments: number;
  /** `<naan>/<name>/<version>/<endpoint>`, by API version and by KO version. */
  readonly #versioned = { post: new Map<string, Endpoint>(), get: new Map<string, Endpoint>() };
  /** `<naan>/<name>/<endpoint>`: the newest API version first. */
  readonly #unversioned = new Map<string, Endpoint[]>();

  constructor(endpoints: readonly Endpoint[], failures: readonly LoadFailure[]) {
    this.endpoints = endpoints.toSorted(byAddress);
    this.failures = failures;
    this.mostSegments = this.endpoints.reduce((most, { id }) => Math.max(most, id.split('/').length), 0);
    for (const each of this.endpoints) this.#versioned[methodOf(each)].set(each.id, each);
    for (const each of this.endpoints.toReversed()) {
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

  /** The endpoint of `<naan>/<name>/<version>/<endpoint>`, whatever its status; one of another method where there is none of this. */
  versioned(key: string, method: EndpointMethod = 'post'): Endpoint | undefined {
    return this.#versioned[method].get(key) ?? this.#versioned[method === 'post' ? 'get' : 'post'].get(key);
  }

  /** All API versions of `<naan>/<name>/<endpoint>`, the newest first. */
  versions(key: string): readonly Endpoint[] {
    return this.#unversioned.get(key) ?? [];
  }

  /**
   * The default version: the newest that is active, or that may yet become so; where all failed, the newest. One of
   * another method where there is none of this.
   */
  newest(key: string, method: EndpointMethod = 'post'): Endpoint | undefined {
    const all = this.versions(key);
    const fitting = all.filter((each) => methodOf(each) === method);
    const choice = fitting.length > 0 ? fitting : all;
    return choice.find((each) => each.status !== 'FAILED_TO_ACTIVATE') ?? choice[0];
  }

  find(id: string): Endpoint | undefined {
    if (id.length > LONGEST_ID) return undefined;
    const key = withoutSlashes(id);
    const found = this.versioned(key) ?? this.newest(key);
    return found?.status === 'FAILED_TO_ACTIVATE' ? undefined : found;
  }
}

/** Characters, with room for some slashes at its ends. */
const LONGEST_ID = 2048;

/** What has another method fails to activate, and is listed among the code. */
const methodOf = ({ entry }: Endpoint): EndpointMethod => (entry.method === 'get' ? 'get' : 'post');

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
