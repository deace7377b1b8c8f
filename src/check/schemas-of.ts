/** Where the schemas of an OpenAPI document are. */
import { fieldsOf, isObject } from '../lib/fields.ts';

export interface PlacedSchema {
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
