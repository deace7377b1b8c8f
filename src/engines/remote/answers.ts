/** What the answer of a runtime means. */
import { executionFailed, messageOf, overloaded } from '../../lib/errors.ts';
import { cutWords } from '../../lib/text.ts';
import type { RuntimeAnswer } from './runtime.ts';

/**
 * "If the answer is JSON with `result`, that is the result; other JSON is the result itself; anything else is the result
 * as a string." What calls itself JSON and is none may have been cut off: it is no result.
 * @throws executionFailed; overloaded.
 */
export function resultOf({ status, contentType, body }: RuntimeAnswer): string {
  const text = textOf(body, contentType);
  const isJson = /json/i.test(contentType);
  if (status >= 300) throw failureOf(status, isJson ? wordsOf(text) : text.slice(0, MOST_WORDS));
  return isJson ? resultIn(text) : JSON.stringify(text);
}

const MOST_WORDS = 500;

function resultIn(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && 'result' in value ? JSON.stringify(value['result']) : text;
  } catch (thrown) {
    const problem = thrown instanceof RangeError ? 'is nested too deeply' : `is not JSON (${messageOf(thrown)})`;
    throw executionFailed(`the answer of the runtime ${problem}`, { cause: thrown });
  }
}

/** What a runtime says of a failure, in whichever of the known keys. */
function wordsOf(text: string): string {
  const value = parsed(text);
  const said = isObject(value) ? value : {};
  const words = [said['description'], said['error'], said['status']].find(
    (each): each is string => typeof each === 'string' && each !== '',
  );
  return words ?? text.slice(0, MOST_WORDS);
}

/** "The existing node runtime reports an exception as 400 `{description}`, the python runtime as 500: both are code execution failures." */
export function failureOf(status: number, words: string): Error {
  if (status === 503) return overloaded(`the runtime is busy: ${cutWords(words)}`);
  return executionFailed(words === '' ? `the runtime answered ${status}` : cutWords(words));
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

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
