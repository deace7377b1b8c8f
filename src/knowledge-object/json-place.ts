/** Where things stand in a JSON text: what `JSON.parse` says only in part, or not at all. */

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

/** V8 shows so many characters before an unexpected token where it names no position. */
const SHOWN_BEFORE = 10;

function offsetOfSyntaxError(text: string, words: string): number | undefined {
  const [, position] = / JSON at position (\d+)/.exec(words) ?? [];
  if (position !== undefined) return Number(position);
  if (words === 'Unexpected end of JSON input') return text.length;
  const [, excerpt] = /, \.\.\."(.*)"(?:\.\.\.)? is not valid JSON$/s.exec(words) ?? [];
  const found = excerpt === undefined ? -1 : text.indexOf(excerpt);
  return found === -1 ? undefined : found + SHOWN_BEFORE;
}

/** The line of a field of the outermost object, from 1; undefined when it is not there. The text is valid JSON. */
export function lineOfField(text: string, field: string): number | undefined {
  let depth = 0;
  let line: number | undefined;
  for (const { 0: token, 1: key, index } of text.matchAll(/("(?:[^"\\]|\\.)*")(?:\s*:)?|[[\]{}]/g)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else if (depth === 1 && key !== undefined && token.endsWith(':') && JSON.parse(key) === field) {
      // Of equal keys the last counts.
      line = text.slice(0, index).split('\n').length;
    }
  }
  return line;
}
