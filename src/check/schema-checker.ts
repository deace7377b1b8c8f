/** Holds values to the schemas of an OpenAPI document, as an activator does. */
import type { ValidateFunction } from 'ajv';
import { bundle, SchemaRefused } from '../execution/validation/bundle.ts';
import type { BundledSchema, SchemaNote } from '../execution/validation/bundle.ts';
import { documentOf } from '../execution/validation/documents.ts';
import type { Documents, SchemaDocument } from '../execution/validation/documents.ts';
import type { Path } from '../execution/validation/find-schema.ts';
import { makeAjv } from '../execution/validation/make-ajv.ts';
import type { Fields } from '../lib/fields.ts';
import { schemaErrors } from './schema-errors.ts';
import type { SchemaError } from './schema-errors.ts';
import type { SchemaFiles } from './schema-files.ts';

export interface CheckerOptions {
  /** Where the document lies in the package. */
  readonly file: string;
  /** What it refers to. */
  readonly files?: SchemaFiles | undefined;
  /** Values are parts of what the schemas describe: what is missing in them is no error. */
  readonly partial?: boolean;
}

export class SchemaChecker {
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
