/** Patterns whose time grows with the text alone, whatever is written in them. */
import { RE2JS } from 're2js';

export interface LinearPattern {
  test(text: string): boolean;
}

const MOST_CHARACTERS = 2000;

/** @throws Error for what such patterns cannot express, or what is too long. */
export function linearPattern(source: string): LinearPattern {
  if (source.length > MOST_CHARACTERS) throw new Error(`it has more than ${MOST_CHARACTERS} characters`);
  return RE2JS.compile(RE2JS.translateRegExp(source));
}

/** Why it cannot be; undefined where it can. */
export function patternProblem(source: string): string | undefined {
  try {
    linearPattern(source);
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message.replace(/^error parsing regexp: /, '') : String(thrown);
  }
}
