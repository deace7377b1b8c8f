/** Where things stand in a JSON text: what `JSON.parse` says only in part, or not at all. */
import { messageOf } from '../lib/errors.ts';

export interface JsonPlace {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

/** Where `JSON.parse` gave up, by the words of its error; undefined when they do not tell. */
export function placeOfSyntaxError(text: string, words: string): JsonPlace | undefined {
  const offset = offsetOfSyntaxError(text, words);
  if (offset === undefined) return undefined;
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}

/** What `JSON.parse` says is wrong, without the place and without the excerpt of the text. */
export const reasonOfSyntaxError = (words: string): string =>
  words.replace(/(?: in JSON)? at position .*$/s, '').replace(/, (?:\.\.\.)?".*$/s, '');

/** V8 shows so many characters before an unexpected token where it names no position. */
const SHOWN_BEFORE = 10;

function offsetOfSyntaxError(text: string, words: string): number | undefined {
  const [, position] = / JSON at position (\d+)/.exec(words) ?? [];
  if (position !== undefined) return Number(position);
  if (words === 'Unexpected end of JSON input') return text.length;
  const excerpt = excerptOf(words);
  if (excerpt === undefined) return undefined;
  // Where it shows the text from its start, that does not tell the place; with more around it, it would.
  if (!words.includes(BEFORE)) return text.startsWith(SPACE) ? undefined : offsetBehindSpace(text);
  const found = text.indexOf(excerpt);
  return found === -1 ? undefined : found + SHOWN_BEFORE;
}

const SPACE = ' '.repeat(32);

/** The error is among the first characters, so that more of the text need not be read. */
function offsetBehindSpace(text: string): number | undefined {
  const longer = SPACE + text.slice(0, SPACE.length) + SPACE;
  try {
    JSON.parse(longer);
    return undefined;
  } catch (thrown) {
    const offset = offsetOfSyntaxError(longer, messageOf(thrown));
    return offset === undefined ? undefined : offset - SPACE.length;
  }
}

const BEFORE = ', ..."';
const BEHIND = /"(?:\.\.\.)? is not valid JSON$/;

/** What V8 shows of the text around the place. */
function excerptOf(words: string): string | undefined {
  const start = words.indexOf(BEFORE);
  const end = words.search(BEHIND);
  if (end < 0) return undefined;
  return start < 0 ? '' : words.slice(start + BEFORE.length, end);
}

/** The line of a field of the outermost object, from 1; undefined when it is not there. The text is valid JSON. */
export function lineOfField(text: string, field: string): number | undefined {
  const found = keyOf(text, field);
  return found === undefined ? undefined : text.slice(0, found.start).split('\n').length;
}

/** The number that a field of the outermost object has, as it is written; undefined when it is not there. The text is valid JSON. */
export function sourceOfNumber(text: string, field: string): string | undefined {
  const found = keyOf(text, field);
  if (found === undefined) return undefined;
  let end = found.value;
  while (NUMERIC.test(text.charAt(end))) end++;
  return text.slice(found.value, end);
}

const NUMERIC = /[-+.\deE]/;

/** Where the key of the outermost object begins, and its value; of equal keys the last counts. */
function keyOf(text: string, field: string): { start: number; value: number } | undefined {
  let depth = 0;
  let found: { start: number; value: number } | undefined;
  const marks = /["[\]{}]/g;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const { 0: token, index: at } = mark;
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else {
      const end = endOfString(text, at);
      const colon = skipSpace(text, end);
      if (depth === 1 && text[colon] === ':' && isText(text.slice(at, end), field))
        found = { start: at, value: skipSpace(text, colon + 1) };
      marks.lastIndex = end;
    }
  }
  return found;
}

/** Behind the quote that ends the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at >= 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at < 0 ? text.length : at + 1;
}

function isEscaped(text: string, quote: number): boolean {
  let start = quote;
  while (text[start - 1] === '\\') start--;
  return (quote - start) % 2 === 1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at++;
  return at;
}

/** The longest spelling of a character has six. */
const isText = (token: string, field: string): boolean =>
  token.length <= 6 * field.length + 2 && JSON.parse(token) === field;
