/** Words of authors as an assistant may be given them: nothing in them is invisible or turns the direction of writing. */

/** Control and format characters, among them marks of direction and tags; selectors of variants; letters that show nothing. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0\p{Variation_Selector}]/gu;

export const plainWords = (text: string): string =>
  text.replace(HIDDEN, (found) => (found === '\n' || found === '\t' ? found : ''));

/** The same of all texts and names in a value that came from JSON. */
export function plainValue(value: unknown): unknown {
  if (typeof value === 'string') return plainWords(value);
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [plainWords(key), plainValue(each)]));
}

/** On one line. */
export const plainLine = (text: string): string => plainWords(text).replace(/\s+/g, ' ').trim();

/** As many characters as fit into so many bytes of UTF-8. */
export function cutBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  const mark = '…';
  let left = most - Buffer.byteLength(mark);
  let cut = '';
  for (const character of text) {
    left -= Buffer.byteLength(character);
    if (left < 0) break;
    cut += character;
  }
  return cut + mark;
}
