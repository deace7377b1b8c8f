/** Finds numbers in JSON texts by how they are written, which a reader that makes doubles of them cannot tell any more. */
import { setImmediate } from 'node:timers/promises';

export interface WrittenNumber {
  readonly literal: string;
  /** Keys and indexes that lead to it. */
  readonly path: readonly (string | number)[];
}

/** Where a container begins, and what leads to the value that comes next in it. */
interface Container {
  readonly isArray: boolean;
  index: number;
  keyFrom: number;
  keyTo: number;
}

/** What stands deeper is not looked at: no text of use is so deep. */
const MOST_DEPTH = 1000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const MINUS = 0x2d;
/** Characters that are gone through at a time. */
const PIECE = 64 * 1024;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

type IsWanted = (literal: string) => boolean;

/** The numbers that `isWanted` says. Goes through the text once; of a text that is no JSON, what it gives means nothing. */
export function* numbersIn(text: string, isWanted: IsWanted): Generator<WrittenNumber> {
  for (const number of piecesIn(text, isWanted)) if (number !== undefined) yield number;
}

/** The same, with a turn for everybody else after each piece of a long text. */
export async function* numbersInTurns(text: string, isWanted: IsWanted): AsyncGenerator<WrittenNumber> {
  for (const number of piecesIn(text, isWanted)) {
    if (number === undefined) await setImmediate();
    else yield number;
  }
}

/** Undefined: a piece has been gone through. */
function* piecesIn(text: string, isWanted: IsWanted): Generator<WrittenNumber | undefined> {
  const containers: Container[] = [];
  const { length } = text;
  let from = 0;
  let to = 0;
  let end = PIECE;
  for (let at = 0; at < length; at++) {
    if (at >= end) {
      end = at + PIECE;
      yield undefined;
    }
    const unit = text.charCodeAt(at);
    const inner = containers.at(-1);
    if (unit === QUOTE) {
      from = at;
      at = endOfString(text, at);
      to = at + 1;
    } else if (unit === COLON) {
      if (inner !== undefined) [inner.keyFrom, inner.keyTo] = [from, to];
    } else if (unit === COMMA) {
      if (inner !== undefined) inner.index++;
    } else if (unit === OPEN_ARRAY || unit === OPEN_OBJECT) {
      if (containers.length >= MOST_DEPTH) return;
      containers.push({ isArray: unit === OPEN_ARRAY, index: 0, keyFrom: 0, keyTo: 0 });
    } else if (unit === CLOSE_ARRAY || unit === CLOSE_OBJECT) containers.pop();
    else if (unit === MINUS || (unit >= 0x30 && unit <= 0x39)) {
      NUMBER.lastIndex = at;
      const literal = NUMBER.exec(text)?.[0] ?? '-';
      at += literal.length - 1;
      if (isWanted(literal))
        yield {
          literal,
          path: containers.map(({ isArray, index, keyFrom, keyTo }) => (isArray ? index : keyOf(text, keyFrom, keyTo))),
        };
    }
  }
}

/** How deep arrays and objects stand in each other. */
export function depthOf(text: string): number {
  let depth = 0;
  let most = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    else if (unit === OPEN_ARRAY || unit === OPEN_OBJECT) most = Math.max(most, ++depth);
    else if (unit === CLOSE_ARRAY || unit === CLOSE_OBJECT) depth--;
  }
  return most;
}

/** Where the quote stands that ends it. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let from = end;
    while (text.charCodeAt(from - 1) === BACKSLASH) from--;
    if ((end - from) % 2 === 0) return end;
  }
  return text.length;
}

function keyOf(text: string, from: number, to: number): string {
  try {
    return String(JSON.parse(text.slice(from, to)));
  } catch {
    return '';
  }
}

/** Gives the path as a JSON pointer. */
export const pointerOf = (path: WrittenNumber['path']): string =>
  path.map((each) => `/${String(each).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
