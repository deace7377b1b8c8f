/** What the answer of a runtime means. */
import { executionFailed, overloaded } from '../../lib/errors.ts';
import type { RuntimeAnswer } from './runtime.ts';

/** "If the answer is JSON with `result`, that is the result; other JSON is the result itself; anything else is the result as a string." */
export function resultOf({ status, contentType, body }: RuntimeAnswer): string {
  const text = body.toString('utf8');
  const value = /json/i.test(contentType) ? parsed(text) : undefined;
  if (status >= 300) throw failureOf(status, wordsOf(value, text));
  if (value === undefined) return JSON.stringify(text);
  return isObject(value) && 'result' in value ? JSON.stringify(value['result']) : text;
}

/** What a runtime says of a failure, in whichever of the known keys. */
function wordsOf(value: unknown, text: string): string {
  const said = isObject(value) ? value : {};
  const words = [said['description'], said['error'], said['status']].find(
    (each): each is string => typeof each === 'string' && each !== '',
  );
  return words ?? text.slice(0, 500);
}

/** "The existing node runtime reports an exception as 400 `{description}`, the python runtime as 500: both are code execution failures." */
export function failureOf(status: number, words: string): Error {
  if (status === 503) return overloaded(`the runtime is busy: ${words}`);
  return executionFailed(words === '' ? `the runtime answered ${status}` : words);
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
