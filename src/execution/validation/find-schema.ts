/** Where an OpenAPI document says what an endpoint takes and gives. */
import { mediaTypeOf } from '../../lib/media-type.ts';
import { endpointPath } from '../../knowledge-object/descriptors/deployment.ts';
import { pointerKey } from '../../knowledge-object/descriptors/service.ts';
import { fieldsOf, isObject } from '../../lib/fields.ts';
import type { Fields } from '../../lib/fields.ts';

/** Keys that lead to a place of a document. */
export type Path = readonly string[];

/** The operation of an endpoint, whose path begins with a slash, by its method in lower case. */
export function operationOf(document: Fields, endpoint: string, method: string): Path | undefined {
  const name = Object.keys(fieldsOf(document['paths'])).find((key) => endpointPath(key) === endpoint);
  if (name === undefined) return undefined;
  for (const path of [['paths', name], follow(document, ['paths', name])]) {
    const key = Object.keys(fieldsOf(at(document, path))).find((each) => each.toLowerCase() === method);
    if (key !== undefined) return [...path, key];
  }
  return undefined;
}

/** The schema of a media type of a body or an answer. */
export function schemaOf(document: Fields, holder: Path, contentType: string): Path | undefined {
  const place = [...follow(document, holder), 'content'];
  const types = Object.keys(fieldsOf(at(document, place)));
  const type =
    types.find((each) => mediaTypeOf(each) === mediaTypeOf(contentType)) ?? types.find((each) => each.includes('*'));
  if (type === undefined) return undefined;
  const path = [...place, type, 'schema'];
  return at(document, path) === undefined ? undefined : path;
}

const STATUSES = ['200', '2XX', '2xx'];

/** Of the result alone: descriptors describe it, or the whole answer with `result` and `info`. */
export function resultSchema(document: Fields, operation: Path): Path | undefined {
  const status = STATUSES.find((each) => at(document, [...operation, 'responses', each]) !== undefined);
  if (status === undefined) return undefined;
  const schema = schemaOf(document, [...operation, 'responses', status], 'application/json');
  if (schema === undefined) return undefined;
  const place = follow(document, schema);
  const { properties, allOf, anyOf, oneOf } = fieldsOf(at(document, place));
  if (isObject(properties)) return Object.hasOwn(properties, 'result') ? [...place, 'properties', 'result'] : place;
  // Any of these may hold a `result`.
  return allOf === undefined && anyOf === undefined && oneOf === undefined ? place : undefined;
}

/** The value there; undefined where there is none. */
export function at(value: unknown, path: Path): unknown {
  let node = value;
  for (const key of path) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Fields)[key];
  }
  return node;
}

const MOST_REFERENCES = 20;

/** Where local references lead from there; a remote one stays where it is. */
export function follow(document: Fields, from: Path): Path {
  let path = from;
  for (let step = 0; step < MOST_REFERENCES; step++) {
    const reference = fieldsOf(at(document, path))['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return path;
    path = reference.slice(2).split('/').map(pointerKey);
  }
  return path;
}
