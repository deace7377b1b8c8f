/** All loaded endpoints at one moment: never changed, but replaced as a whole. */
import {
  compareIds,
  compareNames,
  compareText,
  compareVersions,
  isEndpointPart,
  isKoPart,
  type KoId,
  type KoName,
  nameKey,
  parseKoId,
} from '../knowledge-object/id.ts';
import { plainAtId } from '../knowledge-object/places.ts';
import { firstWhere } from '../lib/first-where.ts';
import { withoutSlashes } from '../lib/text.ts';
import type { Endpoint } from './endpoint.ts';

/** "An HTTP method key (`post` or `get`)": one path may have both. */
export type EndpointMethod = 'post' | 'get';

/** A KO that has no endpoints, since none could be loaded, or since it declares none. */
export interface LoadFailure {
  readonly id: KoId;
  readonly cause: string;
  /** True where it is tried again: the knowledge object could not be read at that moment. */
  readonly transient?: boolean;
  /** False where it is as it should be: the KO declares no endpoint, and need not. */
  readonly isFault?: boolean;
}

export class EndpointSet {
  /** Ordered as `comparePlaces` says. */
  readonly endpoints: readonly Endpoint[];
  /** All that has no endpoints, failures or not. */
  readonly unloaded: readonly LoadFailure[];
  readonly failures: readonly LoadFailure[];
  /** Those that declare no endpoint, and need not. */
  readonly withoutEndpoints: readonly LoadFailure[];
  /** No id has more of them. */
  readonly mostSegments: number;
  readonly #names: LayeredMap<NameEndpoints>;
  readonly #atIds: AtIdNames;
  /** Made when they are first asked for. */
  #engines: Map<string, Endpoint[]> | undefined;
  #failed: Map<string, LoadFailure[]> | undefined;

  /** `replaces`: the set in which these names, and no others, have other endpoints. */
  constructor(
    endpoints: readonly Endpoint[],
    unloaded: readonly LoadFailure[],
    replaces?: { readonly set: EndpointSet; readonly names: readonly KoName[] },
  ) {
    const sorted = endpoints.toSorted(comparePlaces);
    const groups = Map.groupBy(sorted, ({ ko }) => nameKey(ko.id));
    const made = [...groups].map(([key, each]) => [key, new NameEndpoints(each)] as const);
    const most = sorted.reduce((segments, { id }) => Math.max(segments, id.split('/').length), 0);
    this.unloaded = unloaded;
    this.failures = unloaded.filter(({ isFault }) => isFault !== false);
    this.withoutEndpoints = unloaded.filter(({ isFault }) => isFault === false);
    if (replaces === undefined) {
      this.endpoints = sorted;
      this.#names = LayeredMap.of(made);
      this.#atIds = atIdNames(sorted);
      this.mostSegments = most;
      return;
    }
    const { set, names } = replaces;
    const gone = names.map((each) => [nameKey(each), undefined] as const);
    this.#names = set.#names.with([...gone, ...made]);
    const before = names.flatMap((each) => set.ofName(each));
    this.#atIds = nextAtIdNames(set.#atIds, before, sorted);
    this.endpoints = set.#spliced(names, groups);
    this.mostSegments = Math.max(set.mostSegments, most);
  }

  /** The set in which these KOs have these endpoints and no others, at the cost of these; `unloaded` are those of all. */
  with(names: readonly KoName[], endpoints: readonly Endpoint[], unloaded: readonly LoadFailure[]): EndpointSet {
    return new EndpointSet(endpoints, unloaded, { set: this, names });
  }

  /** The endpoints of all versions of a KO, in their order. */
  ofName(name: KoName): readonly Endpoint[] {
    return this.#names.get(nameKey(name))?.endpoints ?? [];
  }

  /** The endpoints of the KOs with this `@id`, in any of its spellings: several versions may have one, the newest comes first. */
  ofAtId(atId: string): readonly Endpoint[] {
    const plain = plainAtId(atId);
    const own = parseKoId(plain);
    const names = own === undefined ? (this.#atIds.get(plain) ?? []) : [own];
    const found = names.flatMap((name) => this.ofName(name));
    return found.filter(({ ko }) => ko.atId === plain && ko.isAtHome).sort((a, b) => compareIds(b.ko.id, a.ko.id));
  }

  /** What stands for a library of this KO whose functions are not known yet. */
  unlisted(name: KoName): Endpoint | undefined {
    return this.ofName(name).find((each) => each.entry.listsExports === true && each.status === 'LOADED');
  }

  /** The endpoints of an engine, in their order. */
  ofEngine(name: string): readonly Endpoint[] {
    this.#engines ??= Map.groupBy(this.endpoints, ({ entry }) => entry.engine);
    return this.#engines.get(name) ?? [];
  }

  /** The failures of all versions of a KO. */
  failuresOf(name: KoName): readonly LoadFailure[] {
    this.#failed ??= Map.groupBy(this.failures, ({ id }) => nameKey(id));
    return this.#failed.get(nameKey(name)) ?? [];
  }

  /** The endpoint of `<naan>/<name>/<version>/<endpoint>`, whatever its status; one of another method where there is none of this. */
  versioned(key: string, method: EndpointMethod = 'post'): Endpoint | undefined {
    return this.#nameOf(key)?.versioned(key, method);
  }

  /** All API versions of `<naan>/<name>/<endpoint>`, the newest first. */
  versions(key: string): readonly Endpoint[] {
    return this.#nameOf(key)?.versions(key) ?? [];
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
    if (id.length > MAX_ID_CHARACTERS) return undefined;
    const key = withoutSlashes(id);
    const found = this.versioned(key) ?? this.newest(key);
    return found?.status === 'FAILED_TO_ACTIVATE' ? undefined : found;
  }

  #nameOf(key: string): NameEndpoints | undefined {
    const end = key.indexOf('/', key.indexOf('/') + 1);
    return end < 0 ? undefined : this.#names.get(key.slice(0, end));
  }

  /** All endpoints, with those of some names in the place of the ones that these had. */
  #spliced(names: readonly KoName[], groups: ReadonlyMap<string, readonly Endpoint[]>): Endpoint[] {
    const all: Endpoint[] = [];
    let taken = 0;
    const takeUntil = (end: number): void => {
      for (const each of this.endpoints.slice(taken, end)) all.push(each);
      taken = Math.max(taken, end);
    };
    for (const name of names.toSorted(compareNames)) {
      takeUntil(firstWhere(this.endpoints, ({ ko }) => compareNames(ko.id, name) >= 0));
      all.push(...(groups.get(nameKey(name)) ?? []));
      taken += this.ofName(name).length;
    }
    takeUntil(this.endpoints.length);
    return all;
  }
}

/** Characters, with room for some slashes at its ends. */
const MAX_ID_CHARACTERS = 2048;

// Which KOs have an `@id` that is not their place, by what is loaded: never changed, but replaced as the set is.

/** By `@id`. */
type AtIdNames = LayeredMap<readonly KoName[]>;

const atIdNames = (endpoints: readonly Endpoint[]): AtIdNames => LayeredMap.of(namesByAtId(endpoints));

/** Of the next set, in which some KOs have other endpoints, at the cost of these. `before` and `now`: of these KOs. */
function nextAtIdNames(names: AtIdNames, before: readonly Endpoint[], now: readonly Endpoint[]): AtIdNames {
  const gone = new Set(before.map(({ ko }) => nameKey(ko.id)));
  const next = namesByAtId(now);
  const changed = new Set([...namesByAtId(before).keys(), ...next.keys()]);
  return names.with(
    [...changed].map((atId) => {
      const staying = (names.get(atId) ?? []).filter((each) => !gone.has(nameKey(each)));
      const all = [...staying, ...(next.get(atId) ?? [])];
      return [atId, all.length === 0 ? undefined : all] as const;
    }),
  );
}

function namesByAtId(endpoints: readonly Endpoint[]): Map<string, readonly KoName[]> {
  const found = new Map<string, Map<string, KoName>>();
  for (const { ko } of endpoints) {
    if (ko.atId === ko.key) continue;
    const names = found.get(ko.atId) ?? new Map<string, KoName>();
    found.set(ko.atId, names.set(nameKey(ko.id), ko.id));
  }
  return new Map([...found].map(([atId, names]) => [atId, [...names.values()]]));
}

// The order of all endpoints, and places in it that outlive what stood there.

/** Where an endpoint stands. */
export interface EndpointPlace {
  readonly ko: { readonly id: KoId };
  readonly apiVersion: string;
  readonly name: string;
  readonly entry: { readonly method: string };
}

/** By naan, name, API version, KO version, endpoint and method: no two have one place. */
export function comparePlaces(a: EndpointPlace, b: EndpointPlace): number {
  return (
    compareNames(a.ko.id, b.ko.id) ||
    compareVersions(a.apiVersion, b.apiVersion) ||
    compareVersions(a.ko.id.version, b.ko.id.version) ||
    compareText(a.name, b.name) ||
    compareText(a.entry.method, b.entry.method)
  );
}

/** The place as a text, which says all that the order needs. */
export const placeText = ({ ko: { id }, apiVersion, name, entry }: EndpointPlace): string =>
  `${id.naan}/${id.name}/${apiVersion}/${name},${id.version},${entry.method}`;

/** Reads what `placeText` gave; undefined where it is none. */
export function parsePlace(text: string): EndpointPlace | undefined {
  const [method = '', version = '', ...address] = text.split(',').reverse();
  const [naan = '', name = '', apiVersion = '', ...endpoint] = address.reverse().join(',').split('/');
  const isPlace = [naan, name, version].every(isKoPart) && isEndpointPart(apiVersion) && endpoint.join('/') !== '';
  if (!isPlace || !/^[a-z]{1,16}$/.test(method)) return undefined;
  return { ko: { id: { naan, name, version } }, apiVersion, name: endpoint.join('/'), entry: { method } };
}

/** The endpoints of all versions of one KO: an id begins with `<naan>/<name>/`, so that no others can meet them. */
class NameEndpoints {
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

/** A map that never changes: a changed one is made from it at the cost of what is changed. */

/** With so many changes over a base, a new base is made. */
const MAX_CHANGES = 256;

class LayeredMap<V> {
  readonly #base: ReadonlyMap<string, V>;
  /** What is other than in the base; `undefined` stands for what is gone. */
  readonly #changes: ReadonlyMap<string, V | undefined>;

  private constructor(base: ReadonlyMap<string, V>, changes: ReadonlyMap<string, V | undefined>) {
    this.#base = base;
    this.#changes = changes;
  }

  static of<V>(entries: Iterable<readonly [string, V]>): LayeredMap<V> {
    return new LayeredMap<V>(new Map(entries), new Map());
  }

  get(key: string): V | undefined {
    const changed = this.#changes.get(key);
    if (changed !== undefined) return changed;
    return this.#changes.has(key) ? undefined : this.#base.get(key);
  }

  /** The map with these entries; `undefined` takes one out. */
  with(entries: Iterable<readonly [string, V | undefined]>): LayeredMap<V> {
    const changes = new Map(this.#changes);
    for (const [key, value] of entries) changes.set(key, value);
    if (changes.size <= MAX_CHANGES) return new LayeredMap(this.#base, changes);
    const base = new Map(this.#base);
    for (const [key, value] of changes) {
      if (value === undefined) base.delete(key);
      else base.set(key, value);
    }
    return new LayeredMap<V>(base, new Map());
  }
}
