/** Examples in a service descriptor, and worked examples, that are not what the descriptor's schemas say. */
import type { ValidateFunction } from 'ajv';
import { bundle, type BundledSchema, type SchemaNote, SchemaRefused } from '../execution/validation/bundle.ts';
import {
  at,
  documentOf,
  type Documents,
  operationOf,
  type Path,
  resultSchema,
  type SchemaDocument,
  schemaOf,
} from '../execution/validation/documents.ts';
import { makeAjv } from '../execution/validation/make-ajv.ts';
import { endpointPath } from '../knowledge-object/descriptors/deployment.ts';
import { EXAMPLES_FILE, type WorkedExample } from '../knowledge-object/worked-examples.ts';
import { type Fields, fieldsOf, isObject } from '../lib/json.ts';
import { mediaTypeOf } from '../lib/media-type.ts';
import { type Finding, type PlacedData, problem, warning } from './findings.ts';
import { innerSchemas, type SchemaError, schemaErrors, type SchemaFiles, schemasOf } from './schema-errors.ts';

/** Checks the examples in the descriptor, beside schemas and in them. */
export function exampleFindings({ value, lineOf }: PlacedData, file: string, files?: SchemaFiles): Finding[] {
  if (!isObject(value)) return [];
  const checker = new SchemaChecker(value, { file, files });
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

/** Checks the calls in `worked-examples.yaml`; a call that is to fail may send anything. */
export function workedExampleFindings(
  { value, lineOf }: PlacedData,
  file: string,
  examples: readonly WorkedExample[],
  places: PlacedData,
  files?: SchemaFiles,
): Finding[] {
  if (!isObject(value)) return [];
  const whole = new SchemaChecker(value, { file, files });
  const parts = new SchemaChecker(value, { file, files, partial: true });
  const items = Array.isArray(places.value) ? places.value : [];
  return examples.flatMap((example) => {
    const index = String(items.findIndex((_, i) => places.lineOf([String(i)]) === example.line));
    const operation = operationOf(value, example.endpoint, example.method);
    if (operation === undefined || example.expected.kind !== 'result') return [];
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

/** What an activator cannot check of inputs, whoever asks it to: parts of schemas that it cannot use, or all of one. */
export function uncheckedFindings(
  { value, lineOf }: PlacedData,
  file: string,
  isEnforced: boolean,
  files?: SchemaFiles,
): Finding[] {
  if (!isObject(value)) return [];
  const checker = new SchemaChecker(value, { file, files, partial: false });
  const found = new Map<string, Finding>();
  for (const path of Object.keys(fieldsOf(value['paths']))) {
    const operation = operationOf(value, endpointPath(path), 'post');
    const schema = operation && schemaOf(value, [...operation, 'requestBody'], 'application/json');
    if (schema === undefined) continue;
    const { notes, failure } = checker.unchecked(schema);
    for (const note of notes) {
      const line = note.file === file ? lineOf(note.path) : undefined;
      found.set(JSON.stringify(note), warning(note.file, line, note.message));
    }
    if (failure === undefined) continue;
    const message = `inputs of ${path} cannot be checked: ${failure}`;
    found.set(path, (isEnforced ? problem : warning)(file, lineOf(schema), message));
  }
  return [...found.values()];
}

function inputOf({ body, contentType }: WorkedExample): { value: unknown } | undefined {
  if (body === undefined) return undefined;
  if (/[/+]json$/.test(mediaTypeOf(contentType))) return { value: JSON.parse(body) as unknown };
  return contentType.startsWith('text/') ? { value: body } : undefined;
}

/** Holds values to the schemas of an OpenAPI document, as an activator does. */
interface CheckerOptions {
  /** Where the document lies in the package. */
  readonly file: string;
  /** What it refers to. */
  readonly files?: SchemaFiles | undefined;
  /** Values are parts of what the schemas describe: what is missing in them is no error. */
  readonly partial?: boolean;
}

class SchemaChecker {
  readonly #documents: Documents;
  readonly #file: string;
  readonly #isPartial: boolean;
  readonly #known = new Map<string, ValidateFunction | undefined>();

  constructor(document: Fields, { file, files, partial = false }: CheckerOptions) {
    const main = documentOf(document);
    const read = new Map<string, SchemaDocument>([[file, main]]);
    this.#documents = {
      of: (path) => {
        let found = read.get(path);
        if (found === undefined) read.set(path, (found = documentOf(files?.get(path) ?? {}, main.openapi)));
        return found;
      },
    };
    this.#file = file;
    this.#isPartial = partial;
  }

  /**
   * In what a value breaks the schema at a place of the document.
   * What cannot be decided, such as where a reference leads out of the package, is no error.
   */
  errors(schema: Path, value: unknown): SchemaError[] {
    try {
      const validate = this.#compiled(schema);
      return validate === undefined || validate(value) === true ? [] : schemaErrors(validate.errors ?? []);
    } catch (thrown) {
      // A value that is nested too deeply.
      if (thrown instanceof RangeError) return [];
      throw thrown;
    }
  }

  /** What an activator does not check there, and why it can check nothing. */
  unchecked(schema: Path): { readonly notes: readonly SchemaNote[]; readonly failure: string | undefined } {
    try {
      return { notes: this.#bundle(schema).notes, failure: undefined };
    } catch (thrown) {
      if (!(thrown instanceof SchemaRefused || thrown instanceof RangeError)) throw thrown;
      return { notes: [], failure: thrown.message };
    }
  }

  #compiled(schema: Path): ValidateFunction | undefined {
    const key = JSON.stringify(schema);
    if (!this.#known.has(key)) this.#known.set(key, this.#compile(schema));
    return this.#known.get(key);
  }

  #compile(schema: Path): ValidateFunction | undefined {
    try {
      return makeAjv(true).compile(this.#bundle(schema).schema);
    } catch (thrown) {
      // Said elsewhere, where it is a fault.
      if (thrown instanceof SchemaRefused || thrown instanceof RangeError) return undefined;
      throw thrown;
    }
  }

  #bundle(schema: Path): BundledSchema {
    return bundle(this.#documents, this.#file, schema, { isPartial: this.#isPartial, ofOtherSide: undefined });
  }
}
