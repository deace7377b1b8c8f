/** Examples in a service descriptor, and worked examples, that are not what the descriptor's schemas say. */
import { endpointPath } from '../../src/knowledge-object/descriptors/deployment.ts';
import { pointerKey } from '../../src/knowledge-object/descriptors/service.ts';
import { fieldsOf, isObject } from './fields.ts';
import type { Fields } from './fields.ts';
import { warning } from './findings.ts';
import type { Finding } from './findings.ts';
import { SchemaChecker } from './schema-checker.ts';
import type { SchemaError } from './schema-errors.ts';
import { innerSchemas, schemasOf } from './schemas-of.ts';
import { EXAMPLES_FILE } from './worked-examples.ts';
import type { WorkedExample } from './worked-examples.ts';
import type { PlacedData } from './yaml-place.ts';

type Path = readonly string[];

/** Of those that the descriptor itself holds: beside schemas, and in them. */
export function exampleFindings({ value, lineOf }: PlacedData, file: string): Finding[] {
  if (!isObject(value)) return [];
  const checker = new SchemaChecker(value);
  const found: Finding[] = [];
  const hold = (schema: Path, path: Path, example: unknown): void => {
    for (const { path: inside, message } of checker.errors(schema, example)) {
      const words = inside.length === 0 ? message.replace(/^the whole/, 'it') : message;
      found.push(
        warning(
          file,
          lineOf([...path, ...inside]),
          `this example breaks its schema (line ${lineOf(schema)}): ${words}`,
        ),
      );
    }
  };
  for (const outermost of schemasOf(value)) {
    const around = outermost.path.slice(0, -1);
    // In components the schemas stand beside each other, and one may be called "example".
    if (outermost.path.at(-1) === 'schema') {
      const holder = fieldsOf(at(value, around));
      if ('example' in holder) hold(outermost.path, [...around, 'example'], holder['example']);
      for (const [name, each] of Object.entries(fieldsOf(holder['examples'])))
        if (isObject(each) && 'value' in each)
          hold(outermost.path, [...around, 'examples', name, 'value'], each['value']);
    }
    for (const { path, schema } of innerSchemas(outermost)) {
      const { example, examples } = fieldsOf(schema);
      if (example !== undefined) hold(path, [...path, 'example'], example);
      if (Array.isArray(examples))
        for (const [i, each] of examples.entries()) hold(path, [...path, 'examples', String(i)], each);
    }
  }
  return found;
}

/** Of the calls in `worked-examples.yaml`; one that is to fail may send what it likes. */
export function workedExampleFindings(
  { value, lineOf }: PlacedData,
  file: string,
  examples: readonly WorkedExample[],
  places: PlacedData,
): Finding[] {
  if (!isObject(value)) return [];
  const whole = new SchemaChecker(value);
  const parts = new SchemaChecker(value, { partial: true });
  const items = Array.isArray(places.value) ? places.value : [];
  return examples.flatMap((example) => {
    const index = String(items.findIndex((_, i) => places.lineOf([String(i)]) === example.line));
    const operation = operationOf(value, example);
    if (operation === undefined || example.expected.kind === 'error') return [];
    const tell = (key: string, schema: Path, { path, message }: SchemaError): Finding => {
      const words = path.length === 0 ? message.replace(/^the whole/, 'it') : message;
      const where = lineOf(schema);
      return warning(
        EXAMPLES_FILE,
        places.lineOf([index, key, ...path]),
        `"${example.name}": the ${key === 'input' ? 'input' : 'expected result'} breaks the schema in ${file}:${where}: ${words}`,
      );
    };
    const request = schemaOf(value, [...operation, 'requestBody'], example.contentType);
    const input = inputOf(example);
    const ofInput = request === undefined || input === undefined ? [] : whole.errors(request, input.value);
    const answer = resultSchema(value, operation);
    const ofResult = answer === undefined ? [] : parts.errors(answer, example.expected.value);
    return [
      ...ofInput.map((each) => tell('input', request ?? [], each)),
      ...ofResult.map((each) => tell('expect', answer ?? [], each)),
    ];
  });
}

/** The keys that lead to what is called. */
function operationOf(document: Fields, { endpoint, method }: WorkedExample): Path | undefined {
  const name = Object.keys(fieldsOf(document['paths'])).find((key) => endpointPath(key) === endpoint);
  if (name === undefined) return undefined;
  for (const path of [['paths', name], follow(document, ['paths', name])]) {
    const key = Object.keys(fieldsOf(at(document, path))).find((each) => each.toLowerCase() === method);
    if (key !== undefined) return [...path, key];
  }
  return undefined;
}

/** The keys that lead to the schema of a media type of a body or an answer. */
function schemaOf(document: Fields, holder: Path, contentType: string): Path | undefined {
  const place = [...follow(document, holder), 'content'];
  const types = Object.keys(fieldsOf(at(document, place)));
  const type = types.find((each) => bare(each) === bare(contentType)) ?? types.find((each) => each.includes('*'));
  if (type === undefined) return undefined;
  const path = [...place, type, 'schema'];
  return at(document, path) === undefined ? undefined : path;
}

const STATUSES = ['200', '2XX', '2xx'];

/** Of the result alone: descriptors describe it, or the whole answer with `result` and `info`. */
function resultSchema(document: Fields, operation: Path): Path | undefined {
  const status = STATUSES.find((each) => at(document, [...operation, 'responses', each]) !== undefined);
  if (status === undefined) return undefined;
  const schema = schemaOf(document, [...operation, 'responses', status], 'application/json');
  if (schema === undefined) return undefined;
  const place = follow(document, schema);
  const { properties, allOf, anyOf, oneOf } = fieldsOf(at(document, place));
  if (isObject(properties)) return 'result' in properties ? [...place, 'properties', 'result'] : place;
  // Any of these may hold a `result`.
  return allOf === undefined && anyOf === undefined && oneOf === undefined ? place : undefined;
}

function inputOf({ body, contentType }: WorkedExample): { value: unknown } | undefined {
  if (body === undefined) return undefined;
  if (/[/+]json$/.test(bare(contentType))) return { value: JSON.parse(body) as unknown };
  return contentType.startsWith('text/') ? { value: body } : undefined;
}

const bare = (type: string): string => (type.split(';')[0] ?? '').trim().toLowerCase();

function at(value: unknown, path: Path): unknown {
  let node = value;
  for (const key of path) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Fields)[key];
  }
  return node;
}

const MOST_REFERENCES = 20;

/** Where local references lead from there; a remote one stays where it is. */
function follow(document: Fields, from: Path): Path {
  let path = from;
  for (let step = 0; step < MOST_REFERENCES; step++) {
    const reference = fieldsOf(at(document, path))['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return path;
    path = reference.slice(2).split('/').map(pointerKey);
  }
  return path;
}
