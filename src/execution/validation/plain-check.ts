/**
 * Sees at once that an input keeps a simple schema: types, names, limits and lists of values. It never takes what a validator
 * would refuse; what it cannot tell is the validator's, whose thread costs more than most calls.
 */
import { isObject } from '../../lib/json.ts';
import type { Fields } from '../../lib/json.ts';

/** True: the value keeps the schema. False: it breaks it, or cannot be told. */
export type PlainCheck = (value: unknown) => boolean;

const TELLING: ReadonlySet<string> = new Set([
  'title',
  'description',
  'examples',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  'contentMediaType',
  'x-unit',
]);
const MOST_DEPTH = 10;

/** In the words of 2020-12, without references. Undefined for a schema that is not simple. */
export function plainCheck(schema: unknown, depth = 0): PlainCheck | undefined {
  if (schema === true) return () => true;
  if (!isObject(schema) || depth > MOST_DEPTH) return undefined;
  const checks: PlainCheck[] = [];
  for (const [key, word] of Object.entries(schema)) {
    if (TELLING.has(key)) continue;
    const check = checkOf(key, word, schema, depth);
    if (check === undefined) return undefined;
    checks.push(check);
  }
  return (value) => checks.every((check) => check(value));
}

function checkOf(key: string, word: unknown, schema: Fields, depth: number): PlainCheck | undefined {
  switch (key) {
    case 'type':
      return typeCheck(word);
    case 'enum':
      return Array.isArray(word)
        ? (value) => (typeof value !== 'object' || value === null) && word.includes(value)
        : undefined;
    case 'minimum':
      return ofNumber(word, (value, limit) => value >= limit);
    case 'maximum':
      return ofNumber(word, (value, limit) => value <= limit);
    case 'exclusiveMinimum':
      return ofNumber(word, (value, limit) => value > limit);
    case 'exclusiveMaximum':
      return ofNumber(word, (value, limit) => value < limit);
    case 'required':
      return Array.isArray(word)
        ? (value) => !isObject(value) || word.every((name) => Object.hasOwn(value, String(name)))
        : undefined;
    case 'properties':
      return propertiesCheck(word, depth);
    case 'additionalProperties':
      return additionalCheck(word, schema);
    case 'items': {
      const item = plainCheck(word, depth + 1);
      return item && ((value) => !Array.isArray(value) || value.every(item));
    }
    case 'minItems':
      return typeof word === 'number' ? (value) => !Array.isArray(value) || value.length >= word : undefined;
    case 'maxItems':
      return typeof word === 'number' ? (value) => !Array.isArray(value) || value.length <= word : undefined;
    default:
      return undefined;
  }
}

const TYPES: Readonly<Record<string, PlainCheck>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: (value) => Array.isArray(value),
  object: isObject,
};

function typeCheck(word: unknown): PlainCheck | undefined {
  const names: unknown[] = Array.isArray(word) ? word : [word];
  const checks = names.map((name) =>
    typeof name === 'string' && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined,
  );
  const known = checks.filter((check) => check !== undefined);
  return known.length === names.length && known.length > 0 ? (value) => known.some((check) => check(value)) : undefined;
}

const ofNumber = (word: unknown, holds: (value: number, limit: number) => boolean): PlainCheck | undefined =>
  typeof word === 'number' ? (value) => typeof value !== 'number' || holds(value, word) : undefined;

function propertiesCheck(word: unknown, depth: number): PlainCheck | undefined {
  if (!isObject(word)) return undefined;
  const checks: [string, PlainCheck][] = [];
  for (const [name, schema] of Object.entries(word)) {
    const check = plainCheck(schema, depth + 1);
    if (check === undefined) return undefined;
    checks.push([name, check]);
  }
  return (value) =>
    !isObject(value) || checks.every(([name, check]) => !Object.hasOwn(value, name) || check(value[name]));
}

/** Beside names that are written out. */
function additionalCheck(word: unknown, { properties }: Fields): PlainCheck | undefined {
  if (word === true) return () => true;
  if (word !== false) return undefined;
  const names = new Set(Object.keys(isObject(properties) ? properties : {}));
  return (value) => !isObject(value) || Object.keys(value).every((name) => names.has(name));
}
