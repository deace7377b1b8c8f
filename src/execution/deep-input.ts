/** Code fails by an input that is nested too deeply for it, which is its caller's fault. */
import { bodyNotReadable } from '../lib/errors.ts';
import { depthOf } from '../lib/json-numbers.ts';

/** No input of use is so deep, and every engine reads and writes it. */
const MOST_DEPTH = 1000;
const TOO_DEEP = /Maximum call stack size exceeded|RecursionError|nested too deeply/;

/** The error that tells it to the caller; other errors as they are. `text`: the JSON. */
export function asFaultOfInput(thrown: unknown, text: string): unknown {
  if (text.length <= 2 * MOST_DEPTH || !(thrown instanceof Error) || !TOO_DEEP.test(thrown.message)) return thrown;
  const depth = depthOf(text);
  return depth > MOST_DEPTH
    ? bodyNotReadable(
        `The request body is nested ${depth} levels deep, which its reader cannot take; ${MOST_DEPTH} are always taken`,
        { cause: thrown },
      )
    : thrown;
}
