/**
 * Numbers that get lost between JSON and what computes: integers of inputs that doubles do not hold, and numbers of
 * results that are larger than any double, for which readers take Infinity.
 */
import { setImmediate } from 'node:timers/promises';
import { type RecordsAnswer, type RecordsPart, RESULT_HEAD, type ResultLines } from '../engines/records.ts';
import { bodyNotReadable, invalidInput, invalidResult, type ServiceError } from '../lib/errors.ts';
import { isJsonText } from '../lib/json.ts';

/** Finds numbers in JSON texts by how they are written, which a reader that makes doubles of them cannot tell any more. */
interface WrittenNumber {
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

/** No input of use is so deep, and every engine reads and writes it. What stands deeper is not looked at. */
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
async function* numbersInTurns(text: string, isWanted: IsWanted): AsyncGenerator<WrittenNumber> {
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

/** Engines whose numbers are doubles. */
const OF_DOUBLES = new Set(['javascript', 'node']);
/** An exponent of three digits. */
const LARGE = /[eE]\+?\d{3}/;
/** Of integers that a double always holds. */
const MOST_EXACT_DIGITS = 15;
/** Of the largest double. */
const MOST_DIGITS = 309;
/** Places in an input that differ by more than the index in a long list. */
const MOST_PLACES = 1000;
/** Steps of all paths together. */
const MOST_STEPS = 20_000;
/** Elements of a list that may have a schema of their own. */
const MOST_OWN_SCHEMAS = 16;

/** Says of places of an input whether the schema has `type: number` there. */
export type SaysNumber = (paths: readonly WrittenNumber['path'][]) => Promise<readonly boolean[]>;

export const mayLoseDigits = (engine: string, text: string): boolean =>
  OF_DOUBLES.has(engine) && (hasDigits(text, MOST_EXACT_DIGITS + 1) || LARGE.test(text));

/**
 * Why an input is refused that the engine could not hold.
 * @param isNested it comes from code, which may have written a double with digits that say no more than it holds.
 */
export async function inexactInput(
  engine: string,
  text: string,
  isNested: boolean,
  saysNumber: SaysNumber,
): Promise<ServiceError | undefined> {
  const places = new Map<string, WrittenNumber>();
  let steps = 0;
  for await (const number of numbersInTurns(text, isNested ? losesDigits : isInexact)) {
    if (isInfinite(number.literal)) return isJsonText(text) ? refusal(engine, number) : undefined;
    steps += number.path.length + 1;
    const key = JSON.stringify(alike(number.path));
    if (!places.has(key)) places.set(key, number);
    // What follows is alike.
    if (places.size >= MOST_PLACES || steps > MOST_STEPS) break;
  }
  if (places.size === 0 || !isJsonText(text)) return undefined;
  const all = [...places.values()];
  const allowed = await saysNumber(all.map(({ path }) => alike(path)));
  const refused = all.find((_, i) => allowed[i] !== true);
  return refused === undefined ? undefined : refusal(engine, refused);
}

/** The value itself is data of a patient, which stays out of messages. */
function refusal(engine: string, { literal, path }: WrittenNumber): ServiceError {
  const place = path.length === 0 ? 'The input' : `The number at ${pointerOf(path)}`;
  return invalidInput(
    isInfinite(literal)
      ? `${place} is larger than any number that the ${engine} engine holds`
      : `${place} is an integer with more digits than the ${engine} engine holds exactly: send it as a string, or declare \`type: number\` there where the nearest number will do`,
    400,
    [{ pointer: pointerOf(path), expected: 'a number that a double holds exactly' }],
  );
}

const isInteger = (literal: string): boolean => !/[.eE]/.test(literal);
const digitsOf = (literal: string): number => literal.length - (literal.startsWith('-') ? 1 : 0);
const isInfinite = (literal: string): boolean => !Number.isFinite(Number(literal));
/** An integer that a double does not hold, or a number that is larger than any. */
export const isInexact = (literal: string): boolean => {
  if (!isInteger(literal)) return isInfinite(literal);
  const digits = digitsOf(literal);
  if (digits <= MOST_EXACT_DIGITS) return false;
  if (digits > MOST_DIGITS || isInfinite(literal)) return true;
  return !Number.isSafeInteger(Number(literal)) && BigInt(literal) !== BigInt(Number(literal));
};
/** A double is written in the fewest digits that tell it from others. */
const losesDigits = (literal: string): boolean =>
  isInexact(literal) && (isInfinite(literal) || BigInt(literal) !== shortest(Number(literal)));
const shortest = (value: number): bigint => {
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, Number(exponent) - fraction.length));
};
const alike = (path: WrittenNumber['path']): (string | number)[] =>
  path.map((each) => (typeof each === 'number' ? Math.min(each, MOST_OWN_SCHEMAS) : each));

const mayBeInfinite = (text: string): boolean => LARGE.test(text) || hasDigits(text, MOST_DIGITS);

/** Whether so many stand together. Looks at one character in so many, which is one of those. */
function hasDigits(text: string, count: number): boolean {
  for (let at = count - 1; at < text.length; at += count) {
    if (!isDigit(text, at)) continue;
    let from = at;
    let to = at;
    while (from > at - count && isDigit(text, from - 1)) from--;
    while (to < at + count && isDigit(text, to + 1)) to++;
    if (to - from + 1 >= count) return true;
  }
  return false;
}

const isDigit = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at);
  return unit >= 0x30 && unit <= 0x39;
};

/** @throws invalidResult for a result with a number that readers take for Infinity. */
export async function checkResult(result: string): Promise<void> {
  if (!mayBeInfinite(result)) return;
  for await (const number of numbersInTurns(result, isInfinite)) throw infiniteResult(number);
}

const infiniteResult = ({ literal, path }: WrittenNumber): ServiceError =>
  invalidResult(`the result holds ${literal.startsWith('-') ? '-' : ''}Infinity at ${placeOf(path)}`);

/** The same of records. */
export function withoutInfinite(answer: RecordsAnswer): RecordsAnswer {
  return answer.some((part) => !(part instanceof Error) && mayBeInfinite(part.lines))
    ? answer.flatMap((part) => (part instanceof Error || !mayBeInfinite(part.lines) ? [part] : partsOf(part)))
    : answer;
}

const partsOf = ({ lines }: ResultLines): RecordsPart[] =>
  lines
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      if (mayBeInfinite(line)) {
        const result = Buffer.from(line.slice(RESULT_HEAD.length, -1), 'latin1').toString('utf8');
        for (const number of numbersIn(result, isInfinite)) return infiniteResult(number);
      }
      return { lines: `${line}\n`, count: 1 };
    });

const MOST_PLACE_CHARACTERS = 200;

/** As code reads it: `result.name[3]["odd name"]`. */
function placeOf(path: WrittenNumber['path']): string {
  const place = path
    .map((each) => {
      if (typeof each === 'number') return `[${each}]`;
      const start = each.slice(0, MOST_PLACE_CHARACTERS);
      return /^[A-Za-z_$][\w$]*$/.test(start) ? `.${start}` : `[${JSON.stringify(start)}]`;
    })
    .join('');
  const whole = `result${place}`;
  return whole.length > MOST_PLACE_CHARACTERS ? `${whole.slice(0, MOST_PLACE_CHARACTERS - 1)}…` : whole;
}

// Code fails by an input that is nested too deeply for it, which is its caller's fault.

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
