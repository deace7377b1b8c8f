/** The inputs and results that a service descriptor names, each by the dotted path that leads to it. */
import { type Fields, fieldsOf, isObject } from '../../src/lib/json.ts';

/** Types of JSON that a value may have; none are known where it is empty. */
export type JsonTypes = ReadonlySet<string>;

export interface SchemaField {
  /** Names that lead to it; of an element of a list its index stands for itself. */
  readonly path: readonly string[];
  readonly types: JsonTypes;
  readonly isRequired: boolean;
}

export interface EndpointSchemas {
  /** Undefined where the descriptor does not say. */
  readonly request: SchemaNode | undefined;
  readonly result: SchemaNode | undefined;
}

/** Deeper ones are JSON text: schemas may hold themselves. */
const MOST_LEVELS = 6;

/** A schema whose references within its document are followed. */
export class SchemaNode {
  readonly #document: Fields;
  readonly #schemas: readonly Fields[];

  constructor(document: Fields, schema: unknown) {
    this.#document = document;
    this.#schemas = [...alternatives(document, schema, 0)];
  }

  get types(): JsonTypes {
    const types = new Set<string>();
    for (const { type, nullable, enum: values, const: only, properties, items } of this.#schemas) {
      for (const each of Array.isArray(type) ? type : [type]) if (typeof each === 'string') types.add(each);
      if (nullable === true) types.add('null');
      if (type === undefined) {
        for (const value of Array.isArray(values) ? values : only === undefined ? [] : [only]) types.add(typeOf(value));
        if (isObject(properties)) types.add('object');
        if (items !== undefined) types.add('array');
      }
    }
    return types;
  }

  /** Names of its properties; undefined where it names none. */
  get names(): readonly string[] | undefined {
    const names = new Set(this.#schemas.flatMap(({ properties }) => Object.keys(fieldsOf(properties))));
    return names.size === 0 ? undefined : [...names];
  }

  get required(): ReadonlySet<string> {
    return new Set(this.#schemas.flatMap(({ required }) => (Array.isArray(required) ? required.map(String) : [])));
  }

  property(name: string): SchemaNode | undefined {
    for (const { properties } of this.#schemas) {
      const found = fieldsOf(properties);
      if (Object.hasOwn(found, name)) return new SchemaNode(this.#document, found[name]);
    }
    return undefined;
  }

  get items(): SchemaNode | undefined {
    const found = this.#schemas.find(({ items }) => isObject(items));
    return found === undefined ? undefined : new SchemaNode(this.#document, found['items']);
  }

  /** Objects are followed to what they hold; lists are one field. */
  *fields(path: readonly string[] = [], isRequired = true): Generator<SchemaField> {
    const { names, types } = this;
    if (names === undefined || types.has('array') || path.length >= MOST_LEVELS) {
      if (path.length > 0) yield { path, types, isRequired };
      return;
    }
    const { required } = this;
    for (const name of names)
      yield* this.property(name)?.fields([...path, name], isRequired && required.has(name)) ?? [];
  }
}

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value === 'bigint' ? 'integer' : typeof value;

/** What it consists of, in whichever way: fields of any of them may stand in a value. */
function* alternatives(document: Fields, schema: unknown, depth: number): Generator<Fields> {
  const found = followed(document, schema);
  if (found === undefined || depth > MOST_LEVELS) return;
  yield found;
  for (const key of ['allOf', 'anyOf', 'oneOf']) {
    const list = found[key];
    for (const each of Array.isArray(list) ? list : []) yield* alternatives(document, each, depth + 1);
  }
}

function followed(document: Fields, schema: unknown): Fields | undefined {
  let found = schema;
  for (let step = 0; step < 20; step++) {
    if (!isObject(found)) return undefined;
    const { $ref: reference } = found;
    if (typeof reference !== 'string') return found;
    if (!reference.startsWith('#/')) return undefined;
    found = reference
      .slice(2)
      .split('/')
      .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>(
        (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
        document,
      );
  }
  return undefined;
}

/** `path` as in the descriptor, such as `/dose`. */
export function schemasOfEndpoint(document: unknown, path: string): EndpointSchemas {
  const whole = fieldsOf(document);
  const operation = fieldsOf(fieldsOf(fieldsOf(whole['paths'])[path])['post']);
  const { requestBody, responses } = operation;
  const request = contentSchema(whole, requestBody);
  const answers = fieldsOf(responses);
  const answer = contentSchema(whole, answers['200'] ?? answers['2XX'] ?? answers['201']);
  // The answer of a single call holds the result beside what tells of the KO; some descriptors speak of the result only.
  const result = answer?.property('result') ?? answer;
  return { request, result };
}

function contentSchema(document: Fields, holder: unknown): SchemaNode | undefined {
  const content = fieldsOf(followed(document, holder)?.['content']);
  const media = Object.entries(content).find(([type]) => /\bjson\b/.test(type))?.[1];
  const { schema } = fieldsOf(media);
  return isObject(schema) ? new SchemaNode(document, schema) : undefined;
}

// Results as columns: those that the response schema names, else one of JSON.

const RESULT_COLUMN = 'result';
/** Most names of fields without a column that are reported. */
const MOST_LOST = 20;

export interface ResultColumn {
  readonly name: string;
  readonly types: JsonTypes;
}

interface Branch {
  readonly column: number | undefined;
  readonly inner: ReadonlyMap<string, Branch>;
}

export const resultOf = (answer: string): unknown => fieldsOf(JSON.parse(answer))['result'];

export class ResultColumns {
  readonly columns: readonly ResultColumn[];
  readonly lost: Set<string>;
  readonly #root: Branch | undefined;

  /** `taken`: names that other columns have. */
  constructor(schema: SchemaNode | undefined, taken: readonly string[], lost: Iterable<string> = []) {
    const fields = [...(schema?.fields() ?? [])];
    const others = new Set(taken);
    const nameOf = (name: string): string => (others.has(name) ? `${RESULT_COLUMN}.${name}` : name);
    this.columns =
      fields.length === 0
        ? [{ name: nameOf(RESULT_COLUMN), types: schema?.types ?? new Set() }]
        : fields.map(({ path, types }) => ({ name: nameOf(path.join('.')), types }));
    this.lost = new Set(lost);
    this.#root = fields.length === 0 ? undefined : branchOf(fields.map(({ path }, column) => ({ path, column })));
  }

  get names(): readonly string[] {
    return this.columns.map(({ name }) => name);
  }

  /** One for each column, of an answer that holds a result. */
  valuesOf(answer: string): unknown[] {
    const result = resultOf(answer);
    const values = Array<unknown>(this.columns.length).fill(undefined);
    if (this.#root === undefined) values[0] = result;
    else this.#spread(result, this.#root, '', values);
    return values;
  }

  #spread(value: unknown, { column, inner }: Branch, name: string, values: unknown[]): void {
    if (column !== undefined) values[column] = value;
    else if (isObject(value)) {
      for (const [key, each] of Object.entries(value)) {
        const branch = inner.get(key);
        const within = name === '' ? key : `${name}.${key}`;
        if (branch === undefined) this.#lose(within);
        else this.#spread(each, branch, within, values);
      }
    } else if (value !== null && value !== undefined) this.#lose(name === '' ? RESULT_COLUMN : name);
  }

  #lose(name: string): void {
    if (this.lost.size < MOST_LOST) this.lost.add(name);
  }
}

function branchOf(fields: readonly { readonly path: readonly string[]; readonly column: number }[], depth = 0): Branch {
  const leaf = fields.find(({ path }) => path.length === depth);
  const inner = new Map<string, Branch>();
  for (const key of new Set(fields.flatMap(({ path }) => path.slice(depth, depth + 1)))) {
    inner.set(
      key,
      branchOf(
        fields.filter(({ path }) => path[depth] === key),
        depth + 1,
      ),
    );
  }
  return { column: leaf?.column, inner };
}
