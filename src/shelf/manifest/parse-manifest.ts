import { koKey, parseKoId } from '../../knowledge-object/id.ts';
import { LinkedObject } from '../../knowledge-object/linked-data.ts';
import { placeOf } from '../../knowledge-object/places.ts';
import { importRefused } from '../../lib/errors.ts';
import { inTurns } from '../../lib/fair-queue.ts';
import { type Fields, isObject } from '../../lib/json.ts';
import { escapeForMessage, hasMore, MAX_URL_CHARACTERS, someOf, withoutEndSlashes } from '../../lib/text.ts';

/** One entry of a manifest: where its KO is, or why that cannot be said. */
export interface ManifestEntry {
  /** As the manifest has it, but without a password. */
  readonly location: string;
  /** Absolute; http, https or file. */
  readonly url?: URL;
  /** The manifest beside which it lies, whose folder it may not leave. */
  readonly beside?: URL;
  readonly error?: Error;
}

/**
 * Reads `{"manifest": [entry…]}`, a knowledge set or a bare array of entries. An entry is a string, or an object whose
 * `url`, else `local_url`, else `@id`, is the location. The `/kos` listing of another activator is such an array: "there
 * an `@id` of three parts means `<that listing's address>/<@id>`", and so does that of any entry with the type of a KO.
 * @param manifest parsed JSON; what holds no list has no entries.
 * @param base where the manifest itself lies; relative entries of one that lies nowhere (a body that was posted) are
 * an error of that entry.
 */
export async function parseManifest(manifest: unknown, base?: URL): Promise<ManifestEntry[]> {
  const all = listIn(manifest);
  const address = Array.isArray(manifest) ? listingAddress(base) : undefined;
  const listing = address === undefined ? undefined : { address, repeated: repeatedIn(all) };
  const entries: ManifestEntry[] = [];
  for await (const some of inTurns(all)) entries.push(...some.map((each) => readEntry(each, base, listing)));
  return entries;
}

/** The entries as they are written. */
export function listIn(manifest: unknown): readonly unknown[] {
  if (Array.isArray(manifest)) return manifest;
  if (!isRecord(manifest)) return [];
  const list: unknown = manifest['manifest'] ?? membersOf(manifest);
  return Array.isArray(list) ? list : [];
}

/** "Collections: `@type: koio:KnowledgeSet` with `koio:hasKnowledgeObject: [{"@id": URL}…]`." */
function membersOf(set: Fields): readonly unknown[] {
  const value = LinkedObject.of(set).find('hasKnowledgeObject')?.value;
  const members = isObject(value) ? (value['@list'] ?? value['@set'] ?? value) : value;
  return members === undefined ? [] : [members].flat();
}

/** The listing of another activator. */
interface Listing {
  readonly address: string;
  /** `@id`s that several versions have. */
  readonly repeated: ReadonlySet<string>;
}

function repeatedIn(entries: readonly unknown[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const entry of entries) {
    const id = isRecord(entry) ? entry['@id'] : undefined;
    if (typeof id !== 'string') continue;
    if (seen.has(id)) repeated.add(id);
    seen.add(id);
  }
  return repeated;
}

/** Commas and brackets: many times what 10,000 entries need. */
const MOST_MARKS = 400_000;
const MARKS = /[,[{]/g;

/** @throws importRefused for what would take long to read; SyntaxError. */
export function parseManifestText(text: string): unknown {
  if (hasMore(MARKS, text, MOST_MARKS)) throw importRefused(`holds more than ${MOST_MARKS} values: divide it`);
  return JSON.parse(text);
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** The address before `/<naan>/<name>/<version>`, "with or without a slash after `/kos`". */
const listingAddress = (base: URL | undefined): string | undefined =>
  base !== undefined && isHttp(base) ? base.origin + withoutEndSlashes(base.pathname) : undefined;

export const isHttp = (url: URL): boolean => url.protocol === 'http:' || url.protocol === 'https:';

function readEntry(entry: unknown, base: URL | undefined, listing: Listing | undefined): ManifestEntry {
  if (typeof entry === 'string') return resolveLocation(entry, base);
  const fields = isRecord(entry) ? entry : {};
  if (typeof fields['url'] === 'string') return resolveLocation(fields['url'], base);
  if (typeof fields['local_url'] === 'string') return resolveLocal(fields['local_url'], base);
  const id = fields['@id'];
  if (typeof id === 'string') {
    const listed = listing === undefined ? undefined : listedAt(id, fields, listing);
    return listed === undefined ? resolveLocation(id, base) : { location: id, url: listed };
  }
  const location = isRecord(entry)
    ? `an object with ${escapeForMessage(someOf(Object.keys(entry))) || 'nothing'}`
    : escapeForMessage(Array.isArray(entry) ? 'a list' : String(entry));
  return { location, error: importRefused('is neither a location nor an object with a "url" or an "@id"') };
}

/** "It is fetched at `<listing>/<percent-encoded @id>`"; of several versions with one `@id`, the one that is listed. */
function listedAt(id: string, fields: Fields, { address, repeated }: Listing): URL | undefined {
  const koId = parseKoId(id);
  if (koId !== undefined) return new URL(`${address}/${koKey(koId)}`);
  if (id.length > MAX_URL_CHARACTERS || !LinkedObject.of(fields).types.some((type) => KO_TYPE.test(type)))
    return undefined;
  const url = new URL(`${address}/${encodeURIComponent(id.toWellFormed())}`);
  const version = LinkedObject.of(fields).text('version', ['dc', '', 'koio', 'schema']);
  if (repeated.has(id)) url.searchParams.set('v', placeOf(id, { version }).version);
  return url;
}

const KO_TYPE = /(?:^|[:/#])KnowledgeObject$/;

const withoutLogin = (written: string): string => written.replace(/\/\/[^/?#]*@/, '//***@');

/** An absolute http, https or file URL, or one that is relative to `base`. */
export function resolveLocation(written: string, base?: URL): ManifestEntry {
  if (written.length > MAX_URL_CHARACTERS) {
    return {
      location: escapeForMessage(withoutLogin(written.slice(0, MAX_URL_CHARACTERS))),
      error: importRefused(`has more than ${MAX_URL_CHARACTERS} characters`),
    };
  }
  const location = withoutLogin(written);
  const url = URL.parse(written, base?.href);
  if (url === null) {
    return {
      location,
      error: importRefused(base === undefined ? 'is not absolute: give an http, https or file URL' : 'is not a URL'),
    };
  }
  if (!isHttp(url) && url.protocol !== 'file:') {
    return {
      location,
      error: importRefused(`has the protocol "${escapeForMessage(url.protocol)}": use http, https or file`),
    };
  }
  if (url.username !== '' || url.password !== '') {
    return { location, error: importRefused('holds a user name or a password, which is not supported') };
  }
  return { location, url };
}

/** A folder or an archive beside the manifest; "over HTTP it must name an archive". */
function resolveLocal(written: string, base: URL | undefined): ManifestEntry {
  if (base === undefined) {
    const why = 'is a local_url, which is relative to the address of a manifest: this one was posted';
    return { location: escapeForMessage(withoutLogin(written)), error: importRefused(why) };
  }
  const entry = resolveLocation(written, base);
  if (entry.url === undefined) return entry;
  const { location, url } = entry;
  if (!isBeside(url, base)) return { location, error: importRefused('leaves the folder of its manifest') };
  if (isHttp(url) && !ARCHIVE.test(url.pathname))
    return {
      location,
      error: importRefused('names no archive: over HTTP a local_url ends with .zip, .tar.gz or .tgz'),
    };
  return { location, url, beside: base };
}

const ARCHIVE = /\.(?:zip|tar\.gz|tgz)$/i;

/** An encoded slash is one for some servers. */
const isBeside = (url: URL, base: URL): boolean =>
  url.protocol === base.protocol &&
  url.host === base.host &&
  !/%(?:2f|5c)/i.test(url.pathname) &&
  url.pathname.startsWith(base.pathname.slice(0, base.pathname.lastIndexOf('/') + 1));
