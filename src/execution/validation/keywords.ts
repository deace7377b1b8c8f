import { posix } from 'node:path';
import { RE2JS } from 're2js';
import { pointerKey } from '../../knowledge-object/descriptors/service.ts';

/** What OpenAPI 3.0 writes otherwise than JSON Schema 2020-12. */

export interface DialectOptions {
  /** The document is of OpenAPI 3.0. */
  readonly isOld: boolean;
  /** Values are parts of what the schemas describe: what is missing in them is no error. */
  readonly isPartial: boolean;
  /** What the other side alone writes: `readOnly` in a request, `writeOnly` in a result. */
  readonly ofOtherSide: 'readOnly' | 'writeOnly' | undefined;
}

type Schema = Record<string, unknown>;

const LIMITS = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const;

/** The same schema in the words of 2020-12; those of its parts are as they were. */
export function inNewWords(source: Readonly<Schema>, { isOld, isPartial, ofOtherSide }: DialectOptions): Schema {
  const schema: Schema = { ...source };
  if (isOld && typeof schema['$ref'] === 'string') {
    // "This object cannot be extended with additional properties"; many say `nullable` beside it.
    const reference = { $ref: schema['$ref'] };
    return schema['nullable'] === true ? { anyOf: [reference, { type: 'null' }] } : reference;
  }
  exclusiveLimits(schema);
  if (Array.isArray(schema['items'])) {
    schema['prefixItems'] ??= schema['items'];
    delete schema['items'];
  }
  if (isOld && schema['nullable'] === true) orNull(schema);
  if (ofOtherSide !== undefined) withoutOtherSide(schema, ofOtherSide);
  if (isPartial) forParts(schema);
  return schema;
}

function exclusiveLimits(schema: Schema): void {
  for (const [exclusive, limit] of LIMITS) {
    if (typeof schema[exclusive] !== 'boolean') continue;
    if (schema[exclusive] && limit in schema) {
      schema[exclusive] = schema[limit];
      delete schema[limit];
    } else delete schema[exclusive];
  }
}

function orNull(schema: Schema): void {
  if (typeof schema['type'] === 'string') schema['type'] = [schema['type'], 'null'];
  if (Array.isArray(schema['enum'])) schema['enum'] = [...(schema['enum'] as unknown[]), null];
  for (const key of ['anyOf', 'oneOf']) {
    const list = schema[key];
    if (Array.isArray(list)) schema[key] = [...(list as unknown[]), { type: 'null' }];
  }
  const all = schema['allOf'];
  if (!Array.isArray(all)) return;
  const either = { anyOf: [{ allOf: all }, { type: 'null' }] };
  if (schema['anyOf'] === undefined) schema['anyOf'] = either.anyOf;
  else schema['allOf'] = [either];
  if (schema['anyOf'] === either.anyOf) delete schema['allOf'];
}

/** "If the property … is in the required list, the required will take effect on the response only" (OpenAPI 3.0). */
function withoutOtherSide(schema: Schema, side: string): void {
  const { required, properties } = schema;
  if (!Array.isArray(required) || typeof properties !== 'object' || properties === null) return;
  const isTheirs = (name: unknown): boolean => {
    const property: unknown = Object.hasOwn(properties, String(name))
      ? (properties as Schema)[String(name)]
      : undefined;
    return typeof property === 'object' && property !== null && (property as Schema)[side] === true;
  };
  schema['required'] = required.filter((name) => !isTheirs(name));
}

const OF_WHOLES = ['required', 'minProperties', 'dependentRequired', 'if', 'then', 'else', 'not'];

function forParts(schema: Schema): void {
  for (const key of OF_WHOLES) delete schema[key];
  if (!Array.isArray(schema['oneOf'])) return;
  schema['anyOf'] ??= schema['oneOf'];
  delete schema['oneOf'];
}

/** Patterns whose time grows with the text alone, whatever is written in them. */
interface LinearPattern {
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

// What a `$ref` of a file in a package means.

/** A file of the package, and the keys or the name of an anchor in it. */
type Reference =
  | { readonly file: string; readonly pointer: readonly string[] }
  | { readonly file: string; readonly anchor: string };

/** Undefined for what leads out of the package: that is never fetched. */
export function readReference(text: string, from: string): Reference | undefined {
  const [address = '', fragment = ''] = splitOnce(text, '#');
  const file = fileOf(address, from);
  if (file === undefined) return undefined;
  if (fragment === '') return { file, pointer: [] };
  if (fragment.startsWith('/')) return { file, pointer: fragment.slice(1).split('/').map(pointerKey) };
  return { file, anchor: fragment };
}

function fileOf(address: string, from: string): string | undefined {
  if (address === '') return from;
  if (SCHEME.test(address) || address.startsWith('/') || address.includes('\\')) return undefined;
  const path = posix.normalize(posix.join(posix.dirname(from), decoded(splitOnce(address, '?')[0] ?? '')));
  return path.startsWith('..') || path.includes('\0') ? undefined : path;
}

/** Of a URL. */
const SCHEME = /^[a-z][\w+.-]*:/i;

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The words of a schema that are checked, and what each must be: whatever else is written there never reaches the validator. */

/** How the value of a word is read. */
export type KeywordKind =
  | 'schema'
  | 'schemas'
  | 'properties'
  | 'number'
  | 'positive'
  | 'count'
  | 'flag'
  | 'names'
  | 'name lists'
  | 'types'
  | 'values'
  | 'value'
  | 'pattern'
  | 'format';

export const KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map<string, KeywordKind>([
  ['type', 'types'],
  ['enum', 'values'],
  ['const', 'value'],
  ['multipleOf', 'positive'],
  ['maximum', 'number'],
  ['exclusiveMaximum', 'number'],
  ['minimum', 'number'],
  ['exclusiveMinimum', 'number'],
  ['maxLength', 'count'],
  ['minLength', 'count'],
  ['pattern', 'pattern'],
  ['format', 'format'],
  ['maxItems', 'count'],
  ['minItems', 'count'],
  ['uniqueItems', 'flag'],
  ['maxContains', 'count'],
  ['minContains', 'count'],
  ['maxProperties', 'count'],
  ['minProperties', 'count'],
  ['required', 'names'],
  ['dependentRequired', 'name lists'],
  ['properties', 'properties'],
  ['patternProperties', 'properties'],
  ['dependentSchemas', 'properties'],
  ['additionalProperties', 'schema'],
  ['propertyNames', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['items', 'schema'],
  ['prefixItems', 'schemas'],
  ['contains', 'schema'],
  ['unevaluatedItems', 'schema'],
  ['allOf', 'schemas'],
  ['anyOf', 'schemas'],
  ['oneOf', 'schemas'],
  ['not', 'schema'],
  ['if', 'schema'],
  ['then', 'schema'],
  ['else', 'schema'],
]);

/** Words whose schemas are of the value itself, and not of something in it. */
export const IN_PLACE: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
]);

export const TYPES: ReadonlySet<string> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]);
