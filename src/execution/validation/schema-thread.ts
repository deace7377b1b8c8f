/** The thread of `schema-checks.ts`: makes schemas ready and checks values with them. */
import { parentPort } from 'node:worker_threads';
import type { ValidateFunction } from 'ajv';
import { messageOf } from '../../lib/errors.ts';
import { bundle, type BundledSchema, SchemaRefused, whereIs } from './bundle.ts';
import { NeedsFile, operationOf, type Path, readDocument, resultSchema, schemaOf, TextDocuments } from './documents.ts';
import { makeAjv } from './make-ajv.ts';
import { saysNumber, type ValuePath } from './says-number.ts';
import { type Violations, violationsOf } from './violations.ts';

/** Which schema is meant. */
export interface SchemaQuestion {
  /** Path of the service descriptor in the package. */
  readonly file: string;
  /** Of the endpoint. */
  readonly path: string;
  readonly method: string;
  /** What a call sends in that media type, or what it gives. */
  readonly part: { readonly of: 'request'; readonly mediaType: string } | { readonly of: 'result' };
}

export interface CompileJob {
  readonly kind: 'compile';
  readonly key: number;
  readonly question: SchemaQuestion;
  /** By file; null for one that is not in the package. */
  readonly texts: ReadonlyMap<string, string | null>;
}

export interface CheckJob {
  readonly kind: 'check';
  readonly key: number;
  readonly values: readonly string[];
  /** `places`: the values are paths, of which those are right where the schema has `type: number`. */
  readonly of: 'values' | 'places';
}

/** The jobs of one key follow each other. */
export type ThreadJob = readonly (CompileJob | CheckJob)[];

export type CompileAnswer =
  | { readonly kind: 'needs'; readonly file: string }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'ready'; readonly notes: readonly string[]; readonly milliseconds: number };

/** Null for a value that is right, or no JSON, which others refuse; a text where it cannot be decided. */
export type CheckOutcome = Violations | string | null;

export type CheckAnswer =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'checked'; readonly outcomes: readonly CheckOutcome[] };

export type ThreadAnswer = readonly (CompileAnswer | CheckAnswer)[];

/** Schemas that are kept; of more, those go that were not used for longest. */
const MOST_SCHEMAS = 200;

const schemas = new Map<number, CompiledSchema>();

parentPort?.on('message', (jobs: ThreadJob) =>
  parentPort?.postMessage(jobs.map((job) => (job.kind === 'compile' ? compile(job) : check(job)))),
);

function compile({ key, question, texts }: CompileJob): CompileAnswer {
  const began = performance.now();
  try {
    const documents = new TextDocuments(texts, question.file);
    const place = placeOf(readDocument(documents, question.file), question);
    if (place === undefined) return { kind: 'none' };
    const ofOtherSide = question.part.of === 'request' ? 'readOnly' : 'writeOnly';
    const bundled = bundle(documents, question.file, place, { isPartial: false, ofOtherSide });
    keep(key, new CompiledSchema(bundled));
    const notes = bundled.notes.map((note) => `${whereIs(note)}: ${note.message}`);
    return { kind: 'ready', notes, milliseconds: performance.now() - began };
  } catch (thrown) {
    if (thrown instanceof NeedsFile) return { kind: 'needs', file: thrown.file };
    if (thrown instanceof RangeError) return { kind: 'failed', reason: 'the schema is nested too deeply' };
    return {
      kind: 'failed',
      reason: thrown instanceof SchemaRefused ? thrown.message : messageOf(thrown).slice(0, 500),
    };
  }
}

function placeOf(
  document: Readonly<Record<string, unknown>>,
  { path, method, part }: SchemaQuestion,
): Path | undefined {
  const operation = operationOf(document, path, method);
  if (operation === undefined) return undefined;
  return part.of === 'result'
    ? resultSchema(document, operation)
    : schemaOf(document, [...operation, 'requestBody'], part.mediaType);
}

function keep(key: number, schema: CompiledSchema): void {
  schemas.delete(key);
  schemas.set(key, schema);
  for (const oldest of schemas.keys()) {
    if (schemas.size <= MOST_SCHEMAS) return;
    schemas.delete(oldest);
  }
}

function check({ key, values, of }: CheckJob): CheckAnswer {
  const schema = schemas.get(key);
  if (schema === undefined) return { kind: 'unknown' };
  if (of === 'places')
    return {
      kind: 'checked',
      outcomes: values.map((path) =>
        schema.saysNumber(JSON.parse(path) as ValuePath) ? null : 'it is no number there',
      ),
    };
  return { kind: 'checked', outcomes: values.map((text) => outcomeOf(schema, text)) };
}

function outcomeOf(schema: CompiledSchema, text: string): CheckOutcome {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    return thrown instanceof RangeError ? TOO_DEEP : null;
  }
  try {
    return schema.check(value, text.length) ?? null;
  } catch (thrown) {
    return thrown instanceof RangeError ? TOO_DEEP : 'the schema cannot be applied to it';
  }
}

const TOO_DEEP = 'it is nested too deeply';

// A schema that was made ready, and what values break of it.

/** Characters of a value of which only the first violation is told: all of them could be millions. */
const LARGE_CHARACTERS = 1024 * 1024;

export class CompiledSchema {
  readonly #bundled: BundledSchema;
  readonly #first: ValidateFunction;
  #all: ValidateFunction | undefined;

  /** @throws Error where it cannot be compiled. */
  constructor(bundled: BundledSchema) {
    this.#bundled = bundled;
    this.#first = makeAjv(false).compile(bundled.schema);
  }

  /** Undefined for a value that is right. @throws RangeError for one that is nested too deeply. */
  check(value: unknown, characters: number): Violations | undefined {
    if (this.#first(value) === true) return undefined;
    const { names } = this.#bundled;
    if (characters > LARGE_CHARACTERS) return violationsOf(this.#first.errors ?? [], names);
    this.#all ??= makeAjv(true).compile(this.#bundled.schema);
    this.#all(value);
    const found = violationsOf(this.#all.errors ?? [], names);
    this.#all.errors = null;
    return found;
  }

  /** Whether it has `type: number` for what stands there in a value. */
  saysNumber(path: ValuePath): boolean {
    return saysNumber(this.#bundled.schema, path);
  }
}
