/**
 * Numbers that get lost between JSON and what computes: integers of inputs that doubles do not hold, and numbers of
 * results that are larger than any double, for which readers take Infinity.
 */
import { isJsonText } from '../lib/json.ts';
import { invalidInput, invalidResult } from '../lib/errors.ts';
import type { ServiceError } from '../lib/errors.ts';
import { numbersIn, numbersInTurns, pointerOf } from '../lib/json-numbers.ts';
import type { WrittenNumber } from '../lib/json-numbers.ts';
import { RESULT_HEAD } from '../engines/records.ts';
import type { RecordsAnswer, RecordsPart, ResultLines } from '../engines/records.ts';

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
  );
}

const isInteger = (literal: string): boolean => !/[.eE]/.test(literal);
const digitsOf = (literal: string): number => literal.length - (literal.startsWith('-') ? 1 : 0);
const isInfinite = (literal: string): boolean => !Number.isFinite(Number(literal));
const isInexact = (literal: string): boolean => {
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
