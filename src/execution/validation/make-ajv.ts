/** The validator: of the words of JSON Schema 2020-12, with bounds where a word could cost more than its value is long. */
import type { Format } from 'ajv';
import { type FormatName, fullFormats } from 'ajv-formats/dist/formats.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isObject } from '../../lib/json.ts';
import { linearPattern } from './keywords.ts';

/** Those that say something of a value; others are words for people. */
export const FORMATS: ReadonlySet<string> = new Set<FormatName>([
  ...(['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6'] as const),
  ...(['uri', 'uri-reference', 'uuid', 'int32', 'int64', 'float', 'double'] as const),
]);

/** Formats are of short texts: checking some of them takes the square of the length. */
const MOST_FORMATTED = 1024;

/** Digits after the point: 0.3 is a multiple of 0.1, though its quotient is 2.9999999999999996. */
const PRECISION = 8;

/** Schemas must come from a `Bundle`. */
export function makeAjv(allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors,
    verbose: true,
    strict: false,
    validateSchema: false,
    meta: false,
    logger: false,
    // A property that every object inherits is none that was sent.
    ownProperties: true,
    inlineRefs: false,
    multipleOfPrecision: PRECISION,
    code: { regExp: Object.assign((source: string) => linearPattern(source), { code: '' }) },
  });
  for (const name of FORMATS) ajv.addFormat(name, bounded(fullFormats[name as FormatName]));
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isOn: boolean, list: readonly unknown[]) => !isOn || isUnique(list),
  });
  return ajv;
}

function bounded(format: Format): Format {
  const isRight = testOf(format);
  return isRight === undefined
    ? format
    : { type: 'string', validate: (text: string) => text.length <= MOST_FORMATTED && isRight(text) };
}

/** Undefined for what is of numbers. */
function testOf(format: Format): ((text: string) => boolean) | undefined {
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === 'function') return format;
  if (typeof format !== 'object' || format.type === 'number' || format.async === true) return undefined;
  const { validate } = format;
  if (validate instanceof RegExp) return (text) => validate.test(text);
  return typeof validate === 'function' ? (validate as (text: string) => boolean) : undefined;
}

/** Each is compared once with all before, where the standard one compares each with each. */
function isUnique(list: readonly unknown[]): boolean {
  const seen = new Set<unknown>();
  for (const item of list) {
    const key = typeof item === 'object' && item !== null ? `object ${canonical(item)}` : keyOf(item);
    if (seen.has(key)) return false;
    seen.add(key);
  }
  return true;
}

const keyOf = (scalar: unknown): unknown => (typeof scalar === 'string' ? `text ${scalar}` : scalar);

/** The same text for values that are equal, in whatever order their keys are. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${pairs.join()}}`;
}
