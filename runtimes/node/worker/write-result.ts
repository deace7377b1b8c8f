/** The result of a call as JSON text. */

// The code of the knowledge object may replace the globals.
const { stringify } = JSON;

/** The result holds a number that JSON does not know. */
export class OddNumber extends Error {}

/**
 * Functions, symbols and undefined become null; what JSON cannot hold throws.
 * @throws OddNumber for NaN and Infinity, for which `JSON.stringify` writes null, and for a BigInt.
 */
export function writeResult(result: unknown): string {
  let text: string;
  try {
    const written: unknown = stringify(result);
    text = typeof written === 'string' ? written : 'null';
  } catch (thrown) {
    writeChecked(result);
    throw thrown;
  }
  return text.includes('null') ? writeChecked(result) : text;
}

/** Looks at each number on the way, and thus takes several times as long. */
function writeChecked(result: unknown): string {
  /** The objects that hold the present value, from the outermost, and the keys that lead to them. */
  const holders: unknown[] = [];
  const keys: string[] = [];
  const text: unknown = stringify(result, function (this: unknown, key: string, value: unknown) {
    while (holders.length > 0 && holders.at(-1) !== this) {
      holders.pop();
      keys.pop();
    }
    const number = value instanceof Number ? Number(value) : value;
    const isBig = typeof value === 'bigint' || value instanceof BigInt;
    if (isBig || (typeof number === 'number' && !Number.isFinite(number))) {
      const path = [...keys.slice(1), key].map((each, i) => member(holders[i], each));
      const place = holders.length > 0 ? `result${path.join('')}` : 'result';
      throw new OddNumber(`the result holds ${isBig ? 'a BigInt' : String(number)} at ${bounded(place)}`);
    }
    if (typeof value === 'object' && value !== null) {
      holders.push(value);
      keys.push(key);
    }
    return value;
  });
  return typeof text === 'string' ? text : 'null';
}

const maxPlaceCharacters = 200;
const bounded = (place: string): string =>
  place.length > maxPlaceCharacters ? `${place.slice(0, maxPlaceCharacters - 1)}…` : place;

/** Gives a member as code reads it: `.name`, `[3]`, `["odd name"]`. */
function member(holder: unknown, key: string): string {
  if (Array.isArray(holder)) return `[${key}]`;
  const start = key.slice(0, maxPlaceCharacters);
  return /^[A-Za-z_$][\w$]*$/.test(start) ? `.${start}` : `[${stringify(start)}]`;
}
