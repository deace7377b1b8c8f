/** What a validator says, in three words each: where, what was expected, and what came. */
import type { ErrorObject } from 'ajv';
import { fieldsOf, isObject } from '../../lib/json.ts';
import { escapeForMessage } from '../../lib/text.ts';

export interface Violation {
  /** As a pointer in the value; empty for the whole of it. */
  readonly path: string;
  /** The same without what a caller wrote: places in lists and names that are in no schema are `*`. */
  readonly schemaPath: string;
  /** Of the schema alone. */
  readonly expected: string;
  /** Of the value. */
  readonly came: string;
}

export interface Violations {
  readonly told: readonly Violation[];
  /** How many more there are, at least. */
  readonly more: number;
}

const MOST_TOLD = 20;
const MOST_READ = 1000;
const MOST_PATH_CHARACTERS = 200;

/** Errors must be `verbose`. */
export function violationsOf(errors: readonly ErrorObject[], names: ReadonlySet<string>): Violations {
  const read = errors.slice(0, MOST_READ);
  const places = placesOf(read);
  const telling = read.filter((error) => !WRAPPERS.has(error.keyword) || !places.has(error.instancePath));
  const byPath = Map.groupBy(telling, pathOf);
  const told = [...byPath].slice(0, MOST_TOLD).map(([path, all]): Violation => {
    const types = all.flatMap(({ keyword, params }) =>
      keyword === 'type' ? (params['type'] as string | string[]) : [],
    );
    const others = all.filter(({ keyword }) => keyword !== 'type').map(expectedOf);
    const texts = [...(types.length > 0 ? [[...new Set(types)].join(' or ')] : []), ...new Set(others)];
    return {
      path: escapeForMessage(path.slice(0, MOST_PATH_CHARACTERS)),
      schemaPath: withoutNames(path, names),
      expected: cut(texts.join(' and '), MOST_EXPECTED_CHARACTERS),
      came: cameOf(all[0]),
    };
  });
  return { told, more: byPath.size - told.length + (errors.length - read.length) };
}

/** They only say that something in them, or each of several, is wrong. */
const WRAPPERS = new Set(['oneOf', 'anyOf', 'allOf', 'if', 'not', 'propertyNames', 'contains']);

/** Places at or around which something telling is wrong. */
function placesOf(errors: readonly ErrorObject[]): Set<string> {
  const places = new Set<string>();
  for (const { keyword, instancePath } of errors) {
    if (WRAPPERS.has(keyword)) continue;
    for (let path = instancePath; !places.has(path); path = path.slice(0, path.lastIndexOf('/'))) {
      places.add(path);
      if (path === '') break;
    }
  }
  return places;
}

/** Of the property itself, where one is missing or too many. */
function pathOf({ instancePath, keyword, params }: ErrorObject): string {
  const name: unknown = OF_PROPERTY.has(keyword) ? (params[OF_PROPERTY.get(keyword) ?? ''] as unknown) : undefined;
  return typeof name === 'string'
    ? `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    : instancePath;
}

const OF_PROPERTY = new Map([
  ['required', 'missingProperty'],
  ['dependentRequired', 'missingProperty'],
  ['additionalProperties', 'additionalProperty'],
  ['unevaluatedProperties', 'unevaluatedProperty'],
]);

const MOST_EXPECTED_CHARACTERS = 300;

function expectedOf({ keyword, params, schema, parentSchema }: ErrorObject): string {
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return typeOf(fieldsOf(fieldsOf(parentSchema)['properties'])[String(params['missingProperty'])]);
    case 'additionalProperties':
    case 'unevaluatedProperties':
    case 'false schema':
      return 'nothing';
    case 'enum':
      return `one of ${(params['allowedValues'] as unknown[]).slice(0, 20).map(short).join(', ')}`;
    case 'const':
      return short(params['allowedValue']);
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `a number ${String(params['comparison'])} ${String(params['limit'])}`;
    case 'multipleOf':
      return `a multiple of ${String(schema)}`;
    case 'minLength':
    case 'maxLength':
      return `${keyword === 'minLength' ? 'at least' : 'at most'} ${String(schema)} characters`;
    case 'minItems':
    case 'maxItems':
      return `${keyword === 'minItems' ? 'at least' : 'at most'} ${String(schema)} items`;
    case 'minProperties':
    case 'maxProperties':
      return `${keyword === 'minProperties' ? 'at least' : 'at most'} ${String(schema)} properties`;
    case 'uniqueItems':
      return 'items that differ';
    case 'pattern':
      return `text that matches ${short(schema)}`;
    case 'format':
      return `text of the format ${String(schema)}`;
    case 'unevaluatedItems':
      return 'no more items';
    case 'contains':
      return 'an item of the kind that the schema names';
    case 'oneOf':
    case 'anyOf':
      return Array.isArray(params['passingSchemas'])
        ? 'only one of its alternatives'
        : 'one of the alternatives of the schema';
    default:
      return `what ${keyword} in the schema says`;
  }
}

function typeOf(schema: unknown): string {
  const { type } = fieldsOf(schema);
  if (typeof type === 'string') return type;
  return Array.isArray(type) ? type.join(' or ') : 'a value';
}

function cameOf(error: ErrorObject | undefined): string {
  if (error === undefined || MISSING.has(error.keyword)) return 'nothing';
  const { data, keyword, params } = error;
  const name = OF_PROPERTY.get(keyword);
  return kindOf(name === undefined ? data : fieldsOf(data)[String(params[name])]);
}

const MISSING = new Set(['required', 'dependentRequired']);

/** What is short is shown to whoever sent it. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 1 ? 'a list of 1 item' : `a list of ${value.length} items`;
  return isObject(value) ? 'an object' : short(value);
}

const MOST_VALUE_CHARACTERS = 40;

function short(value: unknown): string {
  if (typeof value !== 'string') return cut(JSON.stringify(value), MOST_VALUE_CHARACTERS);
  return escapeForMessage(JSON.stringify(cut(value, MOST_VALUE_CHARACTERS)));
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

const MOST_LEVELS = 20;

function withoutNames(path: string, names: ReadonlySet<string>): string {
  const parts = path.split('/').slice(1);
  const known = parts.slice(0, MOST_LEVELS).map((part) => {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    return names.has(name) ? escapeForMessage(part) : '*';
  });
  const text = known.map((part) => `/${part}`).join('');
  return cut(parts.length > MOST_LEVELS ? `${text}/…` : text, MOST_PATH_CHARACTERS);
}
