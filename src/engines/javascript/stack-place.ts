/** Finds the place where code threw in what V8 says of its stack, which the code may have written itself. */
import type { CodePlace } from '../../lib/code-place.ts';

/** Characters and lines that are looked at. */
const MAX_CHARACTERS = 4000;
const MOST_LINES = 50;
const PLACE = /:(\d{1,9}):(\d{1,9})\)?$/;

export interface StackPlace extends CodePlace {
  readonly column: number;
}

/** The innermost place in one of the files that are known. */
export function placeIn(stack: string, isKnown: (file: string) => boolean): StackPlace | undefined {
  for (const text of stack.slice(0, MAX_CHARACTERS).split('\n', MOST_LINES)) {
    const match = PLACE.exec(text);
    if (match === null) continue;
    const before = text.slice(0, match.index);
    const file = candidatesOf(before).find(isKnown);
    if (file !== undefined) return { file, line: Number(match[1]), column: Number(match[2]) };
  }
  return undefined;
}

/** `at run (src/a.js`, `at async run (src/a.js`, `at src/a.js`, `at async src/a.js`; names of functions and files may hold anything. */
function candidatesOf(before: string): string[] {
  const cuts = [before.indexOf(' (') + 2, before.lastIndexOf(' (') + 2];
  const candidates = cuts.filter((cut) => cut >= 2).map((cut) => before.slice(cut));
  return [...candidates, before.replace(/^ +at (?:async )?/, '')];
}
