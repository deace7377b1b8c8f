/** The files of a package that hold schemas, as they are asked for. */
import { endpointPath } from '../../knowledge-object/descriptors/deployment.ts';
import { pointerKey } from '../../knowledge-object/descriptors/service.ts';
import { readYamlTree } from '../../knowledge-object/descriptors/yaml-tree.ts';
import { type Fields, fieldsOf, isObject } from '../../lib/json.ts';
import { mediaTypeOf } from '../../lib/media-type.ts';

export interface SchemaDocument {
  readonly value: Fields;
  /** The version of OpenAPI in whose words its schemas are. */
  readonly openapi: string;
  /** Places with a name of their own. */
  readonly anchors: ReadonlyMap<string, Path>;
}

export interface Documents {
  of(file: string): SchemaDocument;
}

/** A file is wanted that was not given. */
export class NeedsFile extends Error {
  override readonly name = 'NeedsFile';
  readonly file: string;

  constructor(file: string) {
    super(`${file} is needed`);
    this.file = file;
  }
}

export const readDocument = (documents: Documents, file: string): Fields => documents.of(file).value;

/** Of texts by file; null for one that is not in the package. */
export class TextDocuments implements Documents {
  readonly #texts: ReadonlyMap<string, string | null>;
  readonly #read = new Map<string, SchemaDocument>();
  /** A schema file beside an OpenAPI document is in the words of that. */
  readonly #standard: string;

  constructor(texts: ReadonlyMap<string, string | null>, main: string) {
    this.#texts = texts;
    this.#standard = OLD;
    this.#standard = this.of(main).openapi;
  }

  /** @throws NeedsFile; importRefused where it cannot be read. */
  of(file: string): SchemaDocument {
    let found = this.#read.get(file);
    if (found !== undefined) return found;
    const text = this.#texts.get(file);
    if (text === undefined) throw new NeedsFile(file);
    found = documentOf(text === null ? {} : readPlain(text, file), this.#standard);
    this.#read.set(file, found);
    return found;
  }
}

/** Where none is named. */
const OLD = '3.0';

export function documentOf(value: Fields, standard = OLD): SchemaDocument {
  const { openapi } = value;
  const anchors = new Map<string, Path>();
  collectAnchors(value, [], anchors);
  return { value, openapi: versionOf(openapi) ?? standard, anchors };
}

/** Without quotes, `3.1` is a number. */
const versionOf = (openapi: unknown): string | undefined =>
  typeof openapi === 'string' ? openapi : typeof openapi === 'number' ? openapi.toString() : undefined;

function readPlain(text: string, file: string): Fields {
  const tree = readYamlTree(text, file);
  return Object.fromEntries([...tree.root].map(([key, { node }]) => [key, tree.value(node)]));
}

function collectAnchors(value: unknown, path: Path, into: Map<string, Path>): void {
  if (Array.isArray(value)) return value.forEach((each, i) => collectAnchors(each, [...path, String(i)], into));
  if (!isObject(value)) return;
  for (const [key, each] of Object.entries(value)) {
    if ((key === '$anchor' || key === '$dynamicAnchor') && typeof each === 'string' && !into.has(each))
      into.set(each, path);
    else if (typeof each === 'object') collectAnchors(each, [...path, key], into);
  }
}

// Where an OpenAPI document says what an endpoint takes and gives.

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
