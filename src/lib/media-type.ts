/** The header `Content-Type`, as requests have it. */

/** Media type without its parameters, in lower case. */
export const mediaTypeOf = (header: string | undefined): string => {
  const end = header?.indexOf(';') ?? -1;
  return (end < 0 ? (header ?? '') : (header ?? '').slice(0, end)).trim().toLowerCase();
};

/** JSON itself and types that end with `+json`. */
export const isJson = (mediaType: string): boolean => /^(application|text)\/json$|\+json$/.test(mediaType);

/** Characters, many times what browsers send: the negotiator compares each range with each type that is offered. */
const MAX_ACCEPT_CHARACTERS = 1024;

/** An `Accept` header, cut behind the last range that fits. */
export const boundedAccept = (accept: string): string =>
  accept.length <= MAX_ACCEPT_CHARACTERS
    ? accept
    : accept.slice(0, Math.max(0, accept.lastIndexOf(',', MAX_ACCEPT_CHARACTERS)));
