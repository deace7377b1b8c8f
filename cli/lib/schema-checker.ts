/** Holds values to the schemas of an OpenAPI document, of the dialect of 3.0 or of 3.1. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { fieldsOf, isObject } from './fields.ts';
import type { Fields } from './fields.ts';
import { schemaErrors } from './schema-errors.ts';
import type { SchemaError } from './schema-errors.ts';

const DOCUMENT = 'document';

export interface CheckerOptions {
  /** Values are parts of what the schemas describe: what is missing in them is no error. */
  readonly partial?: boolean;
}

export class SchemaChecker {
  readonly #ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    verbose: true,
    validateSchema: false,
    allowUnionTypes: true,
    logger: false,
  });

  constructor(document: Fields, { partial = false }: CheckerOptions = {}) {
    // Its type is that of a CommonJS module.
    (formats as unknown as (ajv: Ajv2020) => void)(this.#ajv);
    const old = !String(document['openapi']).startsWith('3.1');
    this.#ajv.addSchema(fieldsOf(asJsonSchema(document, old, partial)), DOCUMENT);
  }

  /**
   * In what a value breaks the schema at a place of the document.
   * What cannot be decided, such as where a reference leads out of the document, is no error.
   */
  errors(schema: readonly string[], value: unknown): SchemaError[] {
    try {
      const pointer = schema.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
      const validate = this.#ajv.compile({ $ref: `${DOCUMENT}#/${pointer.join('/')}` });
      return validate(value) ? [] : schemaErrors(validate.errors ?? []);
    } catch {
      // Such as a pattern that is none, or a `$ref` to nowhere: said elsewhere, where it is a fault.
      return [];
    }
  }
}

const LIMITS = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const;
const OF_WHOLES = ['required', 'minProperties', 'dependentRequired', 'if', 'then', 'else', 'not'];

/** The same document with its schemas in the words of JSON Schema 2020-12, each where it was. */
function asJsonSchema(value: unknown, old: boolean, partial: boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => asJsonSchema(each, old, partial));
  if (!isObject(value)) return value;
  const fields: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) {
    const isData = key === 'enum' || key === 'const';
    fields[key] = isData ? each : asJsonSchema(each, old, partial);
  }
  const { $ref: reference } = value;
  if (typeof reference === 'string') {
    // Nothing is fetched: what stands elsewhere may be anything.
    if (!reference.startsWith('#')) return {};
    // "This object cannot be extended with additional properties" (OpenAPI 3.0); many say `nullable` beside it.
    if (old)
      return value['nullable'] === true ? { anyOf: [{ $ref: reference }, { type: 'null' }] } : { $ref: reference };
  }
  if (old) forOpenApi30(fields);
  if (partial) forParts(fields);
  return fields;
}

function forOpenApi30(fields: Record<string, unknown>): void {
  for (const [exclusive, limit] of LIMITS) {
    if (typeof fields[exclusive] !== 'boolean') continue;
    if (fields[exclusive]) {
      fields[exclusive] = fields[limit];
      delete fields[limit];
    } else delete fields[exclusive];
  }
  if (typeof fields['nullable'] !== 'boolean') return;
  const isNullable = fields['nullable'];
  delete fields['nullable'];
  if (!isNullable) return;
  if (typeof fields['type'] === 'string') fields['type'] = [fields['type'], 'null'];
  if (Array.isArray(fields['enum'])) fields['enum'] = [...(fields['enum'] as unknown[]), null];
  for (const key of ['anyOf', 'oneOf']) {
    const list = fields[key];
    if (Array.isArray(list)) fields[key] = [...(list as unknown[]), { type: 'null' }];
  }
  if (Array.isArray(fields['allOf'])) {
    fields['anyOf'] = [{ allOf: fields['allOf'] }, { type: 'null' }];
    delete fields['allOf'];
  }
}

function forParts(fields: Record<string, unknown>): void {
  // A property of that name is a schema; as a word of a schema it is a list, a number or, of `not` and `if`, in the way.
  for (const key of OF_WHOLES) if (!isObject(fields[key]) || /^(if|then|else|not)$/.test(key)) delete fields[key];
  if (!Array.isArray(fields['oneOf'])) return;
  fields['anyOf'] ??= fields['oneOf'];
  delete fields['oneOf'];
}
