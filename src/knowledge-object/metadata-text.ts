/** The text of a `metadata.json` as a JSON object, and where in it something is wrong. */
import { createScanner, visit } from 'jsonc-parser';
import { messageOf, type PackageProblem } from '../lib/errors.ts';
import { type Fields, isObject } from '../lib/json.ts';
import { hasMore } from '../lib/text.ts';

/** The name of the metadata file, at the root of every package. */
export const METADATA_FILE = 'metadata.json';

/** Commas and brackets: thousands of times what a knowledge object says of itself. */
const MAX_MARKS = 50_000;
const MARKS = /[,[{]/g;

/** Why a text that comes as `metadata.json` would take long to read, each time; undefined when it would not. */
export const tooManyValues = (text: string): string | undefined =>
  hasMore(MARKS, text, MAX_MARKS) ? `holds more than ${MAX_MARKS} values: make it smaller` : undefined;

/** A problem of a field of the outermost object, with its line where it is there. */
export function metadataProblem(text: string, field: string, message: string): PackageProblem {
  const line = lineOfField(text, field) ?? lineOfField(text, `dc:${field}`);
  return { message, file: METADATA_FILE, ...(line === undefined ? {} : { line }) };
}

/** Undefined where the problem was added. */
export function parseObject(text: string, problems: PackageProblem[]): Fields | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    problems.push(syntaxProblem(text, messageOf(thrown)));
    return undefined;
  }
  if (isObject(value)) return value;
  problems.push({ message: `${METADATA_FILE} must hold a JSON object`, file: METADATA_FILE, line: 1 });
  return undefined;
}

/** What V8 says of a syntax error, with its place in front and without the excerpt of the text. */
function syntaxProblem(text: string, words: string): PackageProblem {
  const start = `${METADATA_FILE} is not valid JSON:`;
  if (text.trim() === '') return { message: `${start} the file is empty`, file: METADATA_FILE };
  const reason = reasonOfSyntaxError(words);
  const place = placeOfSyntaxError(text, words);
  if (place === undefined) return { message: `${start} ${reason}`, file: METADATA_FILE };
  const { line, column } = place;
  return { message: `${start} line ${line}, column ${column}: ${reason}`, file: METADATA_FILE, line };
}

/** Where things stand in a JSON text: what `JSON.parse` says only in part, or not at all. */
interface JsonPlace {
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

function offsetOfSyntaxError(text: string, words: string): number | undefined {
  const [, position] = / JSON at position (\d+)/.exec(words) ?? [];
  if (position !== undefined) return Number(position);
  if (words === 'Unexpected end of JSON input') return text.length;
  const found = firstError(text);
  const [, token] = /^Unexpected token '(.)'/su.exec(words) ?? [];
  // It says where the value begins that is none, and V8 at which character that was seen.
  return found === undefined || token === undefined ? found : Math.max(found, text.indexOf(token, found));
}

/** Undefined where the text is nested too deeply for the reader: the error itself is told all the same. */
function firstError(text: string): number | undefined {
  let found: number | undefined;
  const onError = (_code: number, offset: number): never => {
    found = offset;
    throw new SyntaxError('the rest is not read');
  };
  try {
    visit(text, { onError }, { disallowComments: true });
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError || thrown instanceof RangeError)) throw thrown;
  }
  return found;
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
  return found.value;
}

/** Where the key of the outermost object begins, and the first token of its value; of equal keys the last counts. */
function keyOf(text: string, field: string): { start: number; value: string } | undefined {
  const scanner = createScanner(text, true);
  /** The first character of the next token; undefined at the end. */
  const next = (): string | undefined => {
    scanner.scan();
    return text[scanner.getTokenOffset()];
  };
  let depth = 0;
  let found: { start: number; value: string } | undefined;
  for (let mark = next(); mark !== undefined; mark = next()) {
    if (mark === '"' && depth === 1 && scanner.getTokenValue() === field) {
      const start = scanner.getTokenOffset();
      if (next() !== ':') continue;
      mark = next();
      found = { start, value: scanner.getTokenValue() };
    }
    if (mark === '{' || mark === '[') depth++;
    else if (mark === '}' || mark === ']') depth--;
  }
  return found;
}
