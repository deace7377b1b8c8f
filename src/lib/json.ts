/** True for a text that is JSON. */
export function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Data from outside, looked at key by key. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object of JSON, and no list. */
export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields of a JSON object; of anything else, none. */
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** The value of a text that is JSON, or what stands for any other text. */
export function jsonOr(text: string, other?: unknown): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return other;
  }
}
