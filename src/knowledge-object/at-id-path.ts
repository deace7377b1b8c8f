/** Paths in which an `@id` stands, such as `/kos/<@id>`: a word, a URL or three parts, percent-encoded or as it is. */
import { MAX_URL_CHARACTERS, withoutEndSlashes } from '../lib/text.ts';
import { pathOf } from '../lib/url-path.ts';

/** `<@id>/<rest>`, decoded. */
export interface Reading {
  readonly atId: string;
  readonly rest: string;
}

/** Characters of a path that may name something; an `@id` may have a percent sign for each byte. */
const MAX_PATH_CHARACTERS = 8192;

/** What stands behind the first part of a path, such as `/kos`, as it is written. */
export function behindFirst(url: string): string {
  const path = pathOf(url);
  const slash = path.indexOf('/', 1);
  return slash < 0 ? '' : withoutEndSlashes(path.slice(slash + 1));
}

/**
 * The `@id`s that a part of a path may mean. It is decoded once, and an `@id` may itself have percent signs. One that is
 * encoded is one segment: a `%2F` between slashes is no slash.
 */
export function textsOf(written: string): string[] {
  if (written.length > MAX_PATH_CHARACTERS) return [];
  const decoded = written.includes('/') && ENCODED_SLASH.test(written) ? undefined : decodedOnce(written);
  return decoded === undefined || decoded === written ? [written] : [decoded, written];
}

const ENCODED_SLASH = /%2f/i;

/**
 * The ways to read `<@id>/<rest>`, the first that names something counts: what is encoded up to its slash is the `@id`,
 * else it is as long as it can be.
 * @param mostSegments of the rest.
 */
export function readingsOf(written: string, mostSegments: number): Reading[] {
  const readings: Reading[] = [];
  if (written.length > MAX_PATH_CHARACTERS) return readings;
  const first = written.indexOf('/');
  const isEncoded = first > 0 && ENCODED_SLASH.test(written.slice(0, first));
  if (isEncoded) add(readings, written, first);
  let at = written.lastIndexOf('/');
  for (let left = mostSegments; at > 0 && left > 0; left--) {
    if (!isEncoded || at !== first) add(readings, written, at);
    at = written.lastIndexOf('/', at - 1);
  }
  return readings;
}

function add(readings: Reading[], written: string, slash: number): void {
  const rest = decodedOnce(written.slice(slash + 1));
  if (rest === undefined || rest === '') return;
  for (const atId of textsOf(written.slice(0, slash)).flatMap(spellingsOf)) readings.push({ atId, rest });
}

/** As it is, and "`https:/x` is taken as `https://x` (balancers merge slashes)". */
export function spellingsOf(atId: string): string[] {
  if (atId.length > MAX_URL_CHARACTERS) return [];
  const whole = atId.replace(/^((?:_:)?https?:\/)(?=[^/])/i, '$1/');
  return whole === atId ? [atId] : [atId, whole];
}

function decodedOnce(written: string): string | undefined {
  if (!written.includes('%')) return written;
  try {
    return decodeURIComponent(written);
  } catch {
    return undefined;
  }
}
