/** The text of a `metadata.json` as a JSON object, and where in it something is wrong. */
import { messageOf, type PackageProblem } from '../lib/errors.ts';
import { type Fields, isObject } from '../lib/json.ts';
import { hasMore } from '../lib/text.ts';
import { lineOfField, placeOfSyntaxError, reasonOfSyntaxError } from './json-place.ts';

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
