/** Finds what a call is for, waits until it is decided, and says why there is nothing. */
import type { Activator } from '../activation/activator.ts';
import { type EndpointMethod, type EndpointSet, methodOf } from '../activation/endpoint-set.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { Principal } from '../identity/principal.ts';
import { type ReadableShelf, visibleSet, visibleShelf } from '../identity/visible.ts';
import { isKoPart, koKey, NEVER_NAANS, RESERVED_NAANS } from '../knowledge-object/id.ts';
import { behindFirst, type Reading, readingsOf } from '../knowledge-object/places.ts';
import { endpointNotActive, endpointNotFound, notFound, overloaded } from '../lib/errors.ts';
import { escapeForMessage, someOf, withoutSlashes } from '../lib/text.ts';
import { badUrl } from '../lib/url-path.ts';
import { entryOfAtId } from '../shelf/entry-of-at-id.ts';
import type { Shelf, ShelfEntry } from '../shelf/shelf.ts';

export interface EndpointFinderOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  /** While it is true, what is not known may yet come. */
  readonly arriving: () => boolean;
  /** Hears of calls of an endpoint that is known and not active. */
  readonly onNotActive: (endpoint: Endpoint, refusal: Error) => void;
}

/** What a call asks for. */
export interface Wanted {
  /** As the client wrote it, for messages. */
  readonly path: string;
  /** `<naan>/<name>/…`, decoded. */
  readonly key: string;
  readonly version: string | undefined;
  /** Its status may be any, and its method another one where none has this. */
  readonly in: (set: EndpointSet, method: EndpointMethod) => Endpoint | undefined;
  /** What it means where an `@id` may stand in it. */
  readonly readings?: readonly Reading[];
}

/** "`/{naan}/{name}/{apiVersion}/{endpoint}`", and the forms with `?v=` and without a version. @throws notFound. */
export function wantedByPath(path: string, version: string | undefined): Wanted {
  const key = keyOf(path);
  if (RESERVED_NAANS.has(key.slice(0, key.indexOf('/')))) throw nothingAt(path);
  return { path, key, version, in: (set, method) => endpointAt(set, key, version, method) };
}

const nothingAt = (path: string): Error => notFound(`There is nothing at ${path}`);

/** "POST `/endpoints/<@id>/<endpoint>` […]: an exact `@id` wins, then the rules of execution." */
export function wantedByAtId(path: string, version: string | undefined, { mostSegments }: EndpointSet): Wanted {
  const written = behindFirst(path);
  const readings = readingsOf(written, Math.max(mostSegments, LEAST_SEGMENTS) - SEGMENTS_OF_VERSION);
  const key = keyOf(written);
  return {
    path,
    key,
    version,
    readings,
    in: (set, method) => endpointOfAtId(set, readings, version, method) ?? endpointAt(set, key, version, method),
  };
}

/** Of the id of an endpoint: those of the KO and its API version, and with that of the endpoint. */
const SEGMENTS_OF_VERSION = 3;
const LEAST_SEGMENTS = 4;

export class EndpointFinder {
  readonly #options: EndpointFinderOptions;

  constructor(options: EndpointFinderOptions) {
    this.#options = options;
  }

  /** One that can be called; of those that somebody may read. @throws endpointNotFound; overloaded. */
  async require(wanted: Wanted, principal?: Principal): Promise<Endpoint> {
    const endpoint = await this.find(wanted, 'post', principal);
    if (endpoint !== undefined && endpoint.status !== 'FAILED_TO_ACTIVATE') return endpoint;
    const refusal = await this.missing(wanted, 'post', principal);
    if (endpoint !== undefined) this.#options.onNotActive(endpoint, refusal);
    throw refusal;
  }

  /** Once it is decided. What could not be read before is tried again by a call. */
  async find(wanted: Wanted, method: EndpointMethod, principal?: Principal): Promise<Endpoint | undefined> {
    const { activator } = this.#options;
    if (!activator.loaded) await activator.whenLoaded();
    const endpoint = await this.#decided(wanted, method, principal);
    if (endpoint !== undefined && endpoint.status !== 'FAILED_TO_ACTIVATE') return endpoint;
    const [naan = '', name = ''] = endpoint?.address.split('/', 2) ?? wanted.key.split('/', 2);
    if (principal?.grants.allow('read', { naan, name }) === false) return endpoint;
    if (activator.unreadable(naan, name) === undefined) return endpoint;
    await activator.tryAgain();
    return this.#decided(wanted, method, principal);
  }

  /** Why nothing can be called there. */
  async missing(wanted: Wanted, method: EndpointMethod, principal?: Principal): Promise<Error> {
    const { activator, arriving } = this.#options;
    const set = seen(activator.set, principal);
    const shelf = principal === undefined ? this.#options.shelf : visibleShelf(this.#options.shelf, principal.grants);
    const { version } = wanted;
    const asked = wanted.in(set, method);
    const key = (asked === undefined ? await this.#keyByAtId(shelf, wanted) : undefined) ?? wanted.key;
    const [naan = '', name = ''] = key.split('/');
    if (NEVER_NAANS.has(naan)) return nothingAt(wanted.path);
    if (arriving() && asked === undefined)
      throw overloaded(`${key} is not known yet: the manifests of the start are being imported; try again later`, 2);
    const mayRead = principal?.grants.allow('read', { naan, name }) !== false;
    const unreadable = mayRead ? activator.unreadable(naan, name) : undefined;
    if (unreadable !== undefined)
      throw overloaded(`${naan}/${name} cannot be read at the moment and is tried again: ${unreadable}`, 2);
    return nothingActive(set, { key, version, asked }, await shelf.versions(naan, name));
  }

  /** Where the KO stands whose `@id` was asked for. */
  async #keyByAtId(shelf: ReadableShelf, { readings = [] }: Wanted): Promise<string | undefined> {
    for (const { atId, rest } of readings) {
      const entry = await entryOfAtId(shelf, atId);
      if (entry !== undefined) return `${koKey(entry.id)}/${rest}`;
    }
    return undefined;
  }

  /** "A request meets either the old or the new set, none is dropped": what was replaced while a call waited is not its end. */
  async #decided(wanted: Wanted, method: EndpointMethod, principal?: Principal): Promise<Endpoint | undefined> {
    for (;;) {
      const { set } = this.#options.activator;
      const endpoint = await decidedIn(seen(set, principal), wanted, method);
      if (endpoint?.ready() !== undefined || set === this.#options.activator.set) return endpoint;
    }
  }
}

const seen = (set: EndpointSet, principal: Principal | undefined): EndpointSet =>
  principal === undefined ? set : visibleSet(set, principal.grants);

/** "A call to it is moved to the front and waits for its activation." */
async function decidedIn(set: EndpointSet, wanted: Wanted, method: EndpointMethod): Promise<Endpoint | undefined> {
  let endpoint = wanted.in(set, method);
  while (endpoint?.status === 'LOADED') {
    try {
      await endpoint.executor();
    } catch (thrown) {
      if (endpoint.status === 'LOADED') throw thrown;
    }
    // Where the newest version fails, the default is the next one.
    endpoint = wanted.in(set, method);
  }
  return endpoint;
}

// Finds the endpoint that a path means.

/** Characters: more than the longest id of an endpoint and the longest path of an artifact, with a percent sign for each byte. */
const MAX_PATH_CHARACTERS = 8192;

/** `<naan>/<name>/…`, decoded, without slashes at the ends. @throws malformedRequest; endpointNotFound. */
export function keyOf(path: string): string {
  if (path.length > MAX_PATH_CHARACTERS)
    throw endpointNotFound(
      `No active endpoints found: no endpoint has a path of more than ${MAX_PATH_CHARACTERS} characters`,
    );
  const key = withoutSlashes(path);
  if (!key.includes('%')) return key;
  try {
    return key.split('/').map(decodeURIComponent).join('/');
  } catch {
    throw badUrl(path);
  }
}

/**
 * The endpoint of `<naan>/<name>/<apiVersion>/<endpoint>`, of `<naan>/<name>/<endpoint>` with a version from the
 * query, or of the default version. Its status may be any, and its method another one where none has this.
 */
export function endpointAt(
  set: EndpointSet,
  key: string,
  version: string | undefined,
  method: EndpointMethod,
): Endpoint | undefined {
  // "`POST /a/b/c/d` with `c` a version wins over an endpoint path `c/d`."
  const exact = set.versioned(key, method);
  if (exact !== undefined) return exact;
  const found = version === undefined ? set.newest(key, method) : set.versioned(withVersion(key, version), method);
  const [naan = '', name = ''] = key.split('/', 2);
  return found ?? set.unlisted({ naan, name });
}

/** The endpoint that the first of these readings means: of several KO versions with one `@id` the newest that is active. */
function endpointOfAtId(
  set: EndpointSet,
  readings: readonly Reading[],
  version: string | undefined,
  method: EndpointMethod,
): Endpoint | undefined {
  for (const { atId, rest } of readings) {
    const named = set.ofAtId(atId).filter(({ name }) => name === rest);
    // "The segment or `v` is matched with API versions first, then with KO versions."
    const byApi = named.filter(({ apiVersion }) => apiVersion === version);
    const byKo = named.filter(({ ko }) => ko.id.version === version);
    const found = preferred(version === undefined ? named : byApi.length > 0 ? byApi : byKo, method);
    if (found !== undefined) return found;
  }
  for (const { atId } of readings) {
    const [first] = set.ofAtId(atId);
    const unlisted = first && set.unlisted(first.ko.id);
    if (unlisted !== undefined) return unlisted;
  }
  return undefined;
}

function preferred(endpoints: readonly Endpoint[], method: EndpointMethod): Endpoint | undefined {
  const fitting = endpoints.filter((each) => methodOf(each) === method);
  const choice = fitting.length > 0 ? fitting : endpoints;
  return choice.find((each) => !hasFailed(each)) ?? choice[0];
}

/** The methods that 405 names in `Allow`. */
export function allowedAt(set: EndpointSet, key: string, version: string | undefined): string[] {
  const has = (method: EndpointMethod): boolean => {
    const endpoint = endpointAt(set, key, version, method);
    return endpoint?.entry.method === method && endpoint.status !== 'FAILED_TO_ACTIVATE';
  };
  return [...(has('get') ? ['GET', 'HEAD'] : []), ...(has('post') ? ['POST'] : [])];
}

/** Puts a version between the name and the endpoint. */
function withVersion(key: string, version: string): string {
  const [naan = '', name = '', ...endpoint] = key.split('/');
  return `${naan}/${name}/${version}/${endpoint.join('/')}`;
}

/**
 * A resource endpoint and the artifact below it: `<endpoint>/<artifact path>`, the longest endpoint that fits.
 */
export function resourceAt(
  set: EndpointSet,
  key: string,
  version: string | undefined,
): { endpoint: Endpoint; artifact: string } | undefined {
  const slashes = firstSlashes(key, set.mostSegments);
  // "<endpoint>" alone has three segments, so that the third slash is the first that may end one.
  for (const at of slashes.slice(2).reverse()) {
    const endpoint = endpointAt(set, key.slice(0, at), version, 'get');
    if (endpoint?.entry.method === 'get') return { endpoint, artifact: key.slice(at + 1) };
  }
  return undefined;
}

/** Where the first slashes are: behind more of them than an endpoint has, none begins. */
function firstSlashes(key: string, most: number): number[] {
  const found: number[] = [];
  for (let at = key.indexOf('/'); at >= 0 && found.length < most; at = key.indexOf('/', at + 1)) found.push(at);
  return found;
}

/** What was asked for and is not active. */
interface Missing {
  readonly key: string;
  readonly version: string | undefined;
  /** What is there and failed. */
  readonly asked: Endpoint | undefined;
}

/** The 404 of an address at which nothing is active, with all that helps to find out why. */
export function nothingActive(
  set: EndpointSet,
  missing: Missing,
  onShelf: readonly Pick<ShelfEntry, 'id' | 'atId'>[],
): Error {
  const { asked } = missing;
  const address = addressOf(missing);
  const [naan = '', name = ''] = address.split('/');
  const loaded = set.ofName({ naan, name });
  const sentences = [`No active endpoints found for ${address}${otherNames(loaded, onShelf)}`];
  const others = set.versions(address);
  const active = others.filter((each) => !hasFailed(each)).map((each) => each.apiVersion);
  if (active.length > 0) sentences.push(`active API versions: ${[...new Set(active)].join(', ')}`);
  sentences.push(...(asked === undefined ? others : [asked]).filter(hasFailed).map(whyFailed));
  let isIdle = false;
  if (others.length === 0 && asked === undefined && onShelf.length > 0) {
    const callable = new Set(loaded.filter((each) => !hasFailed(each)).map((each) => each.name));
    if (callable.size > 0) sentences.push(`endpoints of ${naan}/${name}: ${[...callable].join(', ')}`);
    sentences.push(...loaded.filter(hasFailed).slice(0, MOST_NAMED).map(whyFailed));
    const idle = onShelf.filter(({ id }) => !loaded.some(({ ko }) => ko.key === koKey(id)));
    // Nothing is known yet of what it has.
    isIdle = loaded.length === 0 && idle.length > 0;
    for (const { id } of idle.slice(0, MOST_NAMED)) sentences.push(whyIdle(set, koKey(id)));
  }
  const isKnown = [...others, ...(asked === undefined ? [] : [asked])].some(hasFailed) || isIdle;
  return (isKnown ? endpointNotActive : endpointNotFound)(sentences.join('; '));
}

/** The `@id`s, where they are not the place. */
function otherNames(loaded: readonly Endpoint[], onShelf: readonly Pick<ShelfEntry, 'atId'>[]): string {
  const ofLoaded = loaded.map(({ ko }) => (ko.atId === ko.key ? undefined : ko.atId));
  const names = new Set([...ofLoaded, ...onShelf.map(({ atId }) => atId)].filter((atId) => atId !== undefined));
  return names.size === 0 ? '' : ` (@id ${someOf([...names].map(escapeForMessage), MOST_NAMED)})`;
}

const MOST_NAMED = 3;
const hasFailed = ({ status }: Endpoint): boolean => status === 'FAILED_TO_ACTIVATE';
const whyFailed = ({ id, detail = '', mayPass }: Endpoint): string =>
  `${id} failed to activate: ${detail}${mayPass ? ' (it is tried again)' : ''}`;

/** A KO on the shelf without endpoints: it was never loaded, or could not be. */
function whyIdle(set: EndpointSet, key: string): string {
  const known = set.unloaded.find(({ id }) => koKey(id) === key);
  if (known?.isFault === false) return `${key} ${known.cause}`;
  return known === undefined
    ? `${key} is on the shelf but not active: GET /actuator/activation/reload/${key} activates it`
    : `${key} does not run: ${known.cause}`;
}

/** "Detail names the naan/name/endpoint that has no active endpoints": the key without a version. */
function addressOf({ key, asked }: Missing): string {
  if (asked !== undefined) return asked.address;
  const [naan = '', name = '', ...rest] = key.split('/');
  const hasVersion = rest.length > 1 && isKoPart(naan) && isKoPart(name);
  return hasVersion ? `${naan}/${name}/${rest.slice(1).join('/')}` : key;
}
