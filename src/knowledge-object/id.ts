/**
 * Names of knowledge objects and their endpoints.
 *
 * A KO id is `<naan>/<name>/<version>`, "letters, digits and periods only inside each part".
 */
export interface KoId extends KoName {
  readonly version: string;
}

/** A KO in all its versions. */
export interface KoName {
  readonly naan: string;
  readonly name: string;
}

const FIRST_RESERVED = ['kos', 'endpoints', 'actuator', 'proxy', 'doc', 'console'];
const LATER_RESERVED = ['openapi', 'mcp', 'fhir', 'cds-services'];

/** First segments of the service's own paths, refused as naan at import. */
export const RESERVED_NAANS: ReadonlySet<string> = new Set([...FIRST_RESERVED, ...LATER_RESERVED]);

/**
 * Those that no version let in. Knowledge objects that came to a shelf under one of the others stay, and answer below
 * `/endpoints` only.
 */
export const NEVER_NAANS: ReadonlySet<string> = new Set(FIRST_RESERVED);

const KO_PART = /^[A-Za-z0-9.]{1,64}$/;
const ENDPOINT_PART = /^[A-Za-z0-9._~-]{1,64}$/;
const isDots = (part: string): boolean => part === '.' || part === '..';

/** True for a naan, name or version: letters, digits and periods, 1 to 64 of them, not `.` or `..`. */
export const isKoPart = (part: string): boolean => KO_PART.test(part) && !isDots(part);

/** True for an API version or one segment of an endpoint name: also `_`, `~` and `-`. */
export const isEndpointPart = (part: string): boolean => ENDPOINT_PART.test(part) && !isDots(part);

/** `<naan>/<name>/<version>`. */
export const koKey = (id: KoId): string => `${id.naan}/${id.name}/${id.version}`;

/** `<naan>/<name>`. */
export const nameKey = ({ naan, name }: KoName): string => `${naan}/${name}`;

/** Reads `<naan>/<name>/<version>`, with or without a trailing slash; undefined when it is not one. */
export function parseKoId(text: string): KoId | undefined {
  const [naan, name, version, ...rest] = text.endsWith('/') ? text.slice(0, -1).split('/') : text.split('/');
  if (naan === undefined || name === undefined || version === undefined || rest.length > 0) return undefined;
  return isKoPart(naan) && isKoPart(name) && isKoPart(version) ? { naan, name, version } : undefined;
}

/** Reads `ark:/<naan>/<name>/<version>` or `ark:<naan>/<name>/<version>`; undefined when it is not one. */
export function parseArk(text: string): KoId | undefined {
  const match = /^ark:\/?(.*)$/.exec(text);
  return match?.[1] === undefined ? undefined : parseKoId(match[1]);
}

/**
 * Natural order of versions: runs of digits count as numbers, so that `v10.0` comes after `v2.0` and `1.10`
 * after `1.9`. A `v` before the first digit does not count. Versions that differ only in spelling
 * (`1.0`, `v1.0`, `01.0`) are ordered by their text, which makes the order total.
 */
export function compareVersions(a: string, b: string): number {
  const left = runs(a);
  const right = runs(b);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const order = compareRuns(left[i] ?? '', right[i] ?? '');
    if (order !== 0) return order;
  }
  return compareText(a, b);
}

const runs = (version: string): string[] => version.replace(/^[vV](?=\d)/, '').match(/\d+|\D+/g) ?? [];

function compareRuns(a: string, b: string): number {
  if (!isDigits(a) || !isDigits(b)) return compareText(a, b);
  const left = BigInt(a);
  const right = BigInt(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

const isDigits = (run: string): boolean => run !== '' && run.charCodeAt(0) >= 48 && run.charCodeAt(0) <= 57;

// The order in which knowledge objects are listed.

/** By naan, name and natural version. */
export const compareIds = (a: KoId, b: KoId): number => compareNames(a, b) || compareVersions(a.version, b.version);

export const compareNames = (a: KoName, b: KoName): number =>
  compareText(a.naan, b.naan) || compareText(a.name, b.name);

/** By code units, which is the same on every machine. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
