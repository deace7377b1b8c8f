/** A media type without its parameters, in lower case. */
export const bare = (type: string): string => (type.split(';')[0] ?? '').trim().toLowerCase();
