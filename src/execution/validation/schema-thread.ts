/** The thread of `schema-lane.ts`: makes schemas ready and checks values with them. */
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../lib/errors.ts';
import { bundle, SchemaRefused, whereIs } from './bundle.ts';
import { CompiledSchema } from './compiled-schema.ts';
import { NeedsFile, readDocument, TextDocuments } from './documents.ts';
import { operationOf, resultSchema, schemaOf } from './find-schema.ts';
import type { Path } from './find-schema.ts';
import type { ValuePath } from './says-number.ts';
import type { Violations } from './violations.ts';

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
