/** Finds the endpoint that a path means. */
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointMethod, EndpointSet } from '../activation/endpoint-set.ts';
import { methodOf } from '../activation/name-endpoints.ts';
import { escapeForMessage } from '../knowledge-object/escape-for-message.ts';
import { isKoPart, koKey } from '../knowledge-object/id.ts';
import { endpointNotActive, endpointNotFound } from '../lib/errors.ts';
import { badUrl } from '../lib/url-path.ts';
import { someOf, withoutSlashes } from '../lib/text.ts';
import type { ShelfEntry } from '../shelf/shelf.ts';
import type { Reading } from '../knowledge-object/at-id-path.ts';

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
export function endpointOfAtId(
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
export interface Missing {
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
