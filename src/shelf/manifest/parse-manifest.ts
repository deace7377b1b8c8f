import { koKey, parseKoId } from '../../knowledge-object/id.ts';
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { importRefused } from '../../lib/errors.ts';
import { inTurns } from '../../lib/in-turns.ts';
import { MAX_URL_CHARACTERS, hasMore, someOf, withoutEndSlashes } from '../../lib/text.ts';

/** One entry of a manifest: where its KO is, or why that cannot be said. */
export interface ManifestEntry {
  /** As the manifest has it, but without a password. */
  readonly location: string;
  /** Absolute; http, https or file. */
  readonly url?: URL;
  readonly error?: Error;
}

/**
 * Reads `{"manifest": [entry…]}` or a bare array of entries. An entry is a string, or an object whose `url`, else
 * `@id`, is the location. The `/kos` listing of another activator is such an array: "there an `@id` of three parts
 * means `<that listing's address>/<@id>`".
 * @param manifest parsed JSON; what holds no list has no entries.
 * @param base where the manifest itself lies; relative entries of one that lies nowhere (a body that was posted) are
 * an error of that entry.
 */
export async function parseManifest(manifest: unknown, base?: URL): Promise<ManifestEntry[]> {
  const listing = Array.isArray(manifest) ? listingAddress(base) : undefined;
  const entries: ManifestEntry[] = [];
  for await (const some of inTurns(listIn(manifest)))
    entries.push(...some.map((each) => readEntry(each, base, listing)));
  return entries;
}

/** The entries as they are written. */
export function listIn(manifest: unknown): readonly unknown[] {
  const list: unknown = isRecord(manifest) && !Array.isArray(manifest) ? manifest['manifest'] : manifest;
  return Array.isArray(list) ? list : [];
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

function readEntry(entry: unknown, base: URL | undefined, listing: string | undefined): ManifestEntry {
  if (typeof entry === 'string') return resolveLocation(entry, base);
  const fields = isRecord(entry) ? entry : {};
  if (typeof fields['url'] === 'string') return resolveLocation(fields['url'], base);
  const id = fields['@id'];
  if (typeof id === 'string') {
    const koId = parseKoId(id);
    if (koId === undefined || listing === undefined) return resolveLocation(id, base);
    return { location: id, url: new URL(`${listing}/${koKey(koId)}`) };
  }
  const location = isRecord(entry)
    ? `an object with ${escapeForMessage(someOf(Object.keys(entry))) || 'nothing'}`
    : escapeForMessage(Array.isArray(entry) ? 'a list' : String(entry));
  return { location, error: importRefused('is neither a location nor an object with a "url" or an "@id"') };
}

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
