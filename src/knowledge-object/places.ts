/** Where on the shelf a knowledge object stands, whatever its `@id` looks like. */
import { digestOf, escapeForMessage, MAX_URL_CHARACTERS, withoutEndSlashes } from '../lib/text.ts';
import { pathOf } from '../lib/url-path.ts';
import { type KoId, koKey, NEVER_NAANS, parseArk, parseKoId } from './id.ts';

/** Of ids that are words or URLs, where no setting says otherwise. */
export const DEFAULT_NAAN = 'kgrid';
export const DEFAULT_VERSION = 'v1.0';

const MAX_CHARACTERS = 64;

/** An `@id` in the form in which two are compared: "sometimes with `_:` in front", or with a slash at the end. */
export function plainAtId(atId: string): string {
  const id = threeParts(atId);
  return id === undefined ? withoutMarks(atId) : koKey(id);
}

/** An `@id` of three parts, which names the place itself; undefined for words and URLs. */
export function threeParts(atId: string): KoId | undefined {
  const text = withoutMarks(atId);
  return parseKoId(text) ?? parseArk(text);
}

const withoutMarks = (atId: string): string => withoutEndSlashes(atId.replace(/^_:/, ''));

export interface PlaceOptions {
  /** `dc:version`, or what stands for it. */
  readonly version?: string | undefined;
  /** Of ids that are words or URLs. */
  readonly defaultNaan?: string | undefined;
}

/** "An `@id` of three valid parts as before. Otherwise `<naan>/<name>/<version>`": made of its last part. */
export function placeOf(atId: string, { version, defaultNaan = DEFAULT_NAAN }: PlaceOptions = {}): KoId {
  const plain = plainAtId(atId);
  return (
    threeParts(plain) ?? {
      naan: defaultNaan,
      name: asPart(plain.slice(plain.lastIndexOf('/') + 1)) ?? `ko.${digestOf(plain).slice(0, 12)}`,
      version: asPart(version ?? '') ?? DEFAULT_VERSION,
    }
  );
}

/** "Letters, digits, periods; the rest becomes a period; periods at the ends are cut, runs of them become one." */
function asPart(text: string): string | undefined {
  const parts = text.split(/[^A-Za-z0-9]/).filter((part) => part !== '');
  const cut = parts.join('.').slice(0, MAX_CHARACTERS);
  return cut === '' ? undefined : cut.replace(/\.$/, '');
}

/** Why there can be no knowledge object of this `@id`, as the end of a sentence; undefined where there can. */
export function atIdProblem(atId: string): string | undefined {
  const plain = plainAtId(atId.trim());
  if (plain === '') return 'is empty: give the knowledge object a name';
  if (plain.length > MAX_URL_CHARACTERS) return `has more than ${MAX_URL_CHARACTERS} characters`;
  const naan = threeParts(plain)?.naan;
  if (naan !== undefined && NEVER_NAANS.has(naan))
    return `has the naan "${naan}", which is a path of this service: choose another`;
  const last = plain.slice(plain.lastIndexOf('/') + 1);
  if (threeParts(plain) === undefined && isRange(last))
    return `is ${escapeForMessage(JSON.stringify(atId))}, a range of versions: name one version`;
  return undefined;
}

/** `>=1.0`, `^v1`, `[1.0,2.0)`, `1.*`, `v1.0 - v2.0`, `v1.0||v2.0`; also behind a name, as in `bmi@^1.0`. */
function isRange(text: string): boolean {
  const from = /(?:@|[<>^~]|==)=?\s?[<>^~=[(*v\d]/.exec(text);
  const version = from === null ? text : text.slice(from.index).replace(/^@/, '');
  return RANGES.some((each) => each.test(version.trim()));
}

const RANGES: readonly RegExp[] = [
  /^(?:[<>^~]=?|==?) ?v?\d+(?:[.,| ]|$)/,
  /^[[(] ?v?[\d.]* ?, ?v?[\d.]* ?[\])]$/,
  /^(?:v?\d[\d.]*)?\*$/,
  /^v?\d+\.[\d.]*(?: - |-)v?\d+\.[\d.]*$/,
  /^v?\d[\d.]* ?\|\| ?v?\d/,
];

// Paths in which an `@id` stands, such as `/kos/<@id>`: a word, a URL or three parts, percent-encoded or as it is.

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
