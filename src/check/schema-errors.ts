/** What a validator of JSON schemas says, in few sentences that name the place and the remedy. */
import type { ErrorObject } from 'ajv';
import { readReference } from '../execution/validation/keywords.ts';
import { wordLike } from '../lib/did-you-mean.ts';
import { type Fields, fieldsOf, isObject } from '../lib/json.ts';
import { readPlaced } from './findings.ts';

export interface SchemaError {
  /** Keys from the outermost value to what is wrong. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Errors must be `verbose`. Of what fails in one place in several ways, only the deepest and most telling is given. */
export function schemaErrors(errors: readonly ErrorObject[]): SchemaError[] {
  const telling = errors.filter((each) => !isOfAnotherKind(each, errors));
  const byPlace = Map.groupBy(telling, ({ instancePath }) => instancePath);
  return [...byPlace.values()].flatMap((all) => ofPlace(all));
}

const WRAPPERS = new Set(['oneOf', 'anyOf', 'allOf', 'if', 'not', 'false schema', 'dependentSchemas']);

/** It only follows from others, or is of an alternative that was not meant. */
function isOfAnotherKind(error: ErrorObject, errors: readonly ErrorObject[]): boolean {
  const { keyword, params, instancePath, data } = error;
  // A reference may stand nearly everywhere.
  if (keyword === 'required' && params['missingProperty'] === '$ref') return true;
  if (keyword === 'required' && isOfOtherAlternative(error, errors)) return true;
  const isDeeper = (other: ErrorObject): boolean => other.instancePath.startsWith(`${instancePath}/`);
  const others = errors.filter((other) => other !== error && !WRAPPERS.has(other.keyword));
  if (WRAPPERS.has(keyword)) return others.some((other) => isDeeper(other) || other.instancePath === instancePath);
  if (keyword === 'type') return others.some(isDeeper);
  // In one alternative it is wrong, in another right.
  if (keyword === 'enum' || keyword === 'const')
    return others.some((other) => allowed(other, instancePath).includes(data));
  return false;
}

/** A value tells alternatives apart, and is that of another one. */
function isOfOtherAlternative({ schemaPath }: ErrorObject, errors: readonly ErrorObject[]): boolean {
  const alternative = schemaPath.slice(0, schemaPath.lastIndexOf('/'));
  if (!/\/(oneOf|anyOf)\/\d+$/.test(alternative)) return false;
  const isTelling = ({ keyword }: ErrorObject): boolean => keyword === 'enum' || keyword === 'const';
  return errors.some((other) => isTelling(other) && other.schemaPath.startsWith(`${alternative}/properties/`));
}

function allowed({ keyword, instancePath, params }: ErrorObject, place: string): readonly unknown[] {
  if (instancePath !== place) return [];
  if (keyword === 'enum') return params['allowedValues'] as unknown[];
  return keyword === 'const' ? [params['allowedValue']] : [];
}

function ofPlace(errors: readonly ErrorObject[]): SchemaError[] {
  const [first] = errors;
  if (first === undefined) return [];
  const path = keysOf(first.instancePath);
  const found = new Map<string, SchemaError>();
  const say = (message: string, at = path): unknown => found.set(message, { path: at, message });
  const unknown = new Set(errors.map(unknownKey).filter((key) => key !== undefined));
  const missing = new Set(
    errors.filter(({ keyword }) => keyword === 'required').map(({ params }) => String(params['missingProperty'])),
  );
  for (const key of unknown) {
    const known = new Set(
      errors.flatMap(({ parentSchema }) => Object.keys(fieldsOf(fieldsOf(parentSchema)['properties']))),
    );
    const meant = wordLike(
      key,
      [...missing, ...known].filter((each) => each !== '$ref'),
    );
    if (meant !== undefined) missing.delete(meant);
    say(
      `"${key}" is no key here${meant !== undefined ? `: did you mean ${meant}?` : known.size > 0 ? `; the keys are ${[...known].join(', ')}` : ': take it out'}`,
      [...path, key],
    );
  }
  for (const key of missing) say(`${nameOf(path)} has no ${key}: add it`);
  const values = errors.flatMap((error) => allowed(error, error.instancePath));
  const types = new Set(
    errors.filter(({ keyword }) => keyword === 'type').flatMap(({ params }) => params['type'] as string),
  );
  if (values.length > 0) say(valueProblem(path, first.data, values));
  else if (types.size > 0)
    say(`${nameOf(path)} must be ${[...types].map(describeType).join(' or ')}, not ${kindOf(first.data)}`);
  for (const { keyword, message = '' } of errors)
    if (!KNOWN.has(keyword)) say(`${nameOf(path)} ${message.replace(/^must NOT /, 'must not ')}`);
  return [...found.values()];
}

const KNOWN = new Set(['additionalProperties', 'unevaluatedProperties', 'required', 'enum', 'const', 'type']);

function unknownKey({ keyword, params }: ErrorObject): string | undefined {
  if (keyword === 'additionalProperties') return String(params['additionalProperty']);
  return keyword === 'unevaluatedProperties' ? String(params['unevaluatedProperty']) : undefined;
}

function valueProblem(path: readonly string[], data: unknown, values: readonly unknown[]): string {
  const words = [...new Set(values.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))))];
  const meant = typeof data === 'string' ? wordLike(data, words) : undefined;
  const end = meant === undefined ? `; it must be ${words.join(', ')}` : `: did you mean ${meant}?`;
  return `${nameOf(path)} is ${JSON.stringify(data).slice(0, 60)}${words.length === 1 ? `; it must be ${words.join('')}` : end}`;
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'a map',
  string: 'text',
};
const describeType = (type: string): string => TYPES[type] ?? type;

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'a map';
  return typeof value === 'string' ? `the text ${JSON.stringify(value).slice(0, 60)}` : JSON.stringify(value);
}

/** The last key that says something; a place in a list with what the list is. */
function nameOf(path: readonly string[]): string {
  const at = path.findLastIndex((each) => !/^\d+$/.test(each));
  if (at === -1) return path.length === 0 ? 'the whole' : `[${path.join('][')}]`;
  return `${path[at] ?? ''}${path
    .slice(at + 1)
    .map((each) => `[${each}]`)
    .join('')}`;
}

/** RFC 6901. */
export const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Where the schemas of an OpenAPI document are. */
interface PlacedSchema {
  /** Keys that lead to it. */
  readonly path: readonly string[];
  readonly schema: unknown;
}

/** What stands there is data, whatever it looks like. */
const DATA = new Set(['example', 'examples']);

/** The outermost schemas: components, and those of bodies, answers, headers and parameters. */
export function* schemasOf(document: unknown): Generator<PlacedSchema> {
  const { components } = fieldsOf(document);
  for (const [name, schema] of Object.entries(fieldsOf(fieldsOf(components)['schemas'])))
    yield { path: ['components', 'schemas', name], schema };
  yield* below(document, []);
}

function* below(value: unknown, path: readonly string[]): Generator<PlacedSchema> {
  if (Array.isArray(value)) for (const [i, each] of value.entries()) yield* below(each, [...path, String(i)]);
  if (!isObject(value)) return;
  for (const [key, each] of Object.entries(value)) {
    if (DATA.has(key) || key.startsWith('x-') || (key === 'schemas' && path.join() === 'components')) continue;
    if (key === 'schema' && path.length > 0) yield { path: [...path, key], schema: each };
    else yield* below(each, [...path, key]);
  }
}

const OF_ONE = [
  'items',
  'additionalProperties',
  'not',
  'contains',
  'propertyNames',
  'if',
  'then',
  'else',
  'unevaluatedItems',
  'unevaluatedProperties',
];
const OF_LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const OF_MAP = ['properties', 'patternProperties', '$defs', 'dependentSchemas'];

/** A schema, and all that are part of it. */
export function* innerSchemas({ path, schema }: PlacedSchema): Generator<PlacedSchema> {
  if (!isObject(schema)) return;
  yield { path, schema };
  for (const key of OF_ONE) yield* innerSchemas({ path: [...path, key], schema: schema[key] });
  for (const key of OF_LIST) {
    const list = schema[key];
    for (const [i, each] of (Array.isArray(list) ? list : []).entries())
      yield* innerSchemas({ path: [...path, key, String(i)], schema: each });
  }
  for (const key of OF_MAP) {
    for (const [name, each] of Object.entries(fieldsOf(schema[key])))
      yield* innerSchemas({ path: [...path, key, name], schema: each });
  }
}

// Files of a package that its schemas refer to.

/** By path in the package. */
export type SchemaFiles = ReadonlyMap<string, Fields>;

const MOST_FILES = 50;

/** All to which a document leads. `textOf` gives undefined for what is not there. */
export async function readSchemaFiles(
  document: Fields,
  file: string,
  textOf: (path: string) => Promise<string | undefined>,
): Promise<SchemaFiles> {
  const files = new Map<string, Fields>([[file, document]]);
  const left = [file];
  for (let next = left.pop(); next !== undefined; next = left.pop())
    for (const path of filesOf(files.get(next), next)) {
      if (files.has(path) || files.size > MOST_FILES) continue;
      const text = await textOf(path);
      const value = text === undefined ? undefined : readPlaced(text, path)?.value;
      if (!isObject(value)) continue;
      files.set(path, value);
      left.push(path);
    }
  return files;
}

function* filesOf(value: unknown, from: string): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, each] of Object.entries(value)) {
    const reference = key === '$ref' && typeof each === 'string' ? readReference(each, from) : undefined;
    if (reference === undefined) yield* filesOf(each, from);
    else if (reference.file !== from) yield reference.file;
  }
}
