/** What the answer of a runtime means. */
import type { CodePlace } from '../../lib/code-place.ts';
import {
  codeError,
  EXECUTION_ERRORS,
  executionFailed,
  invalidInput,
  invalidResult,
  messageOf,
  overloaded,
} from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { cutWords } from '../../lib/text.ts';
import type { RuntimeAnswer } from './runtime-connections.ts';

/**
 * "If the answer is JSON with `result`, that is the result; other JSON is the result itself; anything else is the result
 * as a string." What calls itself JSON and is none may have been cut off: it is no result.
 * @throws the errors of `EXECUTION_ERRORS`; overloaded.
 */
export function resultOf({ status, contentType, body }: RuntimeAnswer): string {
  const text = textOf(body, contentType);
  const isJson = /json/i.test(contentType);
  if (status >= 300) throw isJson ? failureIn(status, text) : failureOf(status, text.slice(0, MAX_MESSAGE_CHARACTERS));
  return isJson ? resultIn(text) : JSON.stringify(text);
}

const MAX_MESSAGE_CHARACTERS = 500;

function resultIn(text: string): string {
  const only = onlyResultIn(text);
  if (only !== undefined) return only;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && 'result' in value ? JSON.stringify(value['result']) : text;
  } catch (thrown) {
    const problem = thrown instanceof RangeError ? 'is nested too deeply' : `is not JSON (${messageOf(thrown)})`;
    throw invalidResult(`the answer of the runtime ${problem}`, { cause: thrown });
  }
}

/** The result as the runtime has written it, where there is nothing else: all digits of its numbers are kept. */
function onlyResultIn(text: string): string | undefined {
  if (!text.startsWith(ONLY_RESULT) || !text.endsWith('}')) return undefined;
  const result = text.slice(ONLY_RESULT.length, -1);
  return parsed(result) === undefined ? undefined : result;
}
const ONLY_RESULT = '{"result":';

/** What the body of an answer says of a failure. */
export function failureIn(status: number, text: string): Error {
  const value = parsed(text);
  const said = isObject(value) ? value : {};
  return failureOf(status, wordsOf(said) ?? text.slice(0, MAX_MESSAGE_CHARACTERS), said);
}

/** Gives the text of the first known key. */
function wordsOf(said: Readonly<Record<string, unknown>>): string | undefined {
  const words = [said['description'], said['error'], said['status']].find(
    (each): each is string => typeof each === 'string' && each !== '',
  );
  return words;
}

/** "The existing node runtime reports an exception as 400 `{description}`, the python runtime as 500: both are code execution failures." */
export function failureOf(status: number, words: string, said: Readonly<Record<string, unknown>> = {}): Error {
  if (status === 503) return overloaded(`the runtime is busy: ${cutWords(words)}`);
  // "A runtime's 400 counts as input at fault only with `title: 'Invalid Input'`."
  if (said['title'] === 'Invalid Input' && (status === 400 || status === 422))
    return invalidInput(cutWords(words), status);
  const reason = words === '' ? `the runtime answered ${status}` : cutWords(words);
  const fault = typeof said['fault'] === 'string' ? said['fault'] : '';
  const error = EXECUTION_ERRORS.get(fault) ?? (status === 400 ? codeError : executionFailed);
  return error(reason, { place: placeOf(said['place']) });
}

/** Where the code failed, if the runtime says so in the form that ours have: it goes to the log and to authors. */
function placeOf(said: unknown): CodePlace | undefined {
  if (!isObject(said)) return undefined;
  const { file, line } = said;
  const isPath = typeof file === 'string' && file.length <= 300 && /^[^/\\\p{Cc}][^\\\p{Cc}]*$/u.test(file);
  return isPath && typeof line === 'number' && Number.isSafeInteger(line) && line > 0 ? { file, line } : undefined;
}

/** Without a byte order mark, in the charset that the content type names; UTF-8 where it names none that is known. */
function textOf(body: Buffer, contentType: string): string {
  const charset = /;\s*charset="?([\w-]+)/i.exec(contentType)?.[1];
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function objectOf(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
