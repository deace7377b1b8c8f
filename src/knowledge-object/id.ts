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
