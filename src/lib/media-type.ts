/** The header `Content-Type`, as requests have it. */

/** Media type without its parameters, in lower case. */
export const mediaTypeOf = (header: string | undefined): string => {
  const end = header?.indexOf(';') ?? -1;
  return (end < 0 ? (header ?? '') : (header ?? '').slice(0, end)).trim().toLowerCase();
};

/** JSON itself and types that end with `+json`. */
export const isJson = (mediaType: string): boolean => /^(application|text)\/json$|\+json$/.test(mediaType);
