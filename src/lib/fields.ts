/** Data from outside, looked at key by key. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object of JSON, and no list. */
export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields of a JSON object; of anything else, none. */
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});
