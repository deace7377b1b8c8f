/** What a schema says of one place in a value. */
import { isObject } from '../../lib/json.ts';
import type { JsonSchema } from './bundle.ts';
import { at } from './documents.ts';

/** Keys and indexes that lead to it. */
export type ValuePath = readonly (string | number)[];

/** Schemas of one place, of which more are none that a person wrote. */
const MOST_SCHEMAS = 1000;
const ALTERNATIVES = ['allOf', 'anyOf', 'oneOf'] as const;
const BRANCHES = ['then', 'else'] as const;

/** Whether one of the schemas that hold for the place has `type: number`. `root`: with its definitions, as bundled. */
export function saysNumber(root: JsonSchema, path: ValuePath): boolean {
  let schemas = inPlace(root, [root]);
  for (const step of path)
    schemas = inPlace(
      root,
      schemas.flatMap((schema) => below(schema, step)),
    );
  return schemas.some(({ type }) => type === 'number' || (Array.isArray(type) && type.includes('number')));
}

/** With those that they refer to for the same value. */
function inPlace(root: JsonSchema, schemas: readonly unknown[]): Record<string, unknown>[] {
  const found = new Set<Record<string, unknown>>();
  const left = [...schemas];
  while (left.length > 0 && found.size < MOST_SCHEMAS) {
    const next = left.pop();
    if (!isObject(next) || found.has(next)) continue;
    found.add(next);
    const { $ref } = next;
    if (typeof $ref === 'string' && isObject(root)) left.push(at(root, $ref.split('/').slice(1)));
    for (const keyword of ALTERNATIVES) if (Array.isArray(next[keyword])) left.push(...(next[keyword] as unknown[]));
    for (const keyword of BRANCHES) left.push(next[keyword]);
  }
  return [...found];
}

function below(schema: Record<string, unknown>, step: string | number): unknown[] {
  if (typeof step === 'number') {
    const { prefixItems, items } = schema;
    return Array.isArray(prefixItems) && step < prefixItems.length ? [prefixItems[step]] : [items];
  }
  const { properties, patternProperties, additionalProperties } = schema;
  const named = isObject(properties) && Object.hasOwn(properties, step) ? [properties[step]] : [];
  const fitting = Object.entries(isObject(patternProperties) ? patternProperties : {})
    .filter(([pattern]) => new RegExp(pattern, 'u').test(step))
    .map(([, each]) => each);
  const found = [...named, ...fitting];
  return found.length > 0 ? found : [additionalProperties];
}
