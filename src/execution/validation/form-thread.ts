/** The thread of `forms.ts`: reads what forms need of descriptors and worked examples, one knowledge object after the other. */
import { isJson, mediaTypeOf } from '../../lib/media-type.ts';
import { parentPort } from 'node:worker_threads';
import { EXAMPLES_FILE, parseWorkedExamples } from '../../knowledge-object/worked-examples.ts';
import type { WorkedExample } from '../../knowledge-object/worked-examples.ts';
import { messageOf } from '../../lib/errors.ts';
import { fieldsOf } from '../../lib/fields.ts';
import type { Fields } from '../../lib/fields.ts';
import { NeedsFile, readDocument, TextDocuments } from './documents.ts';
import { at, follow, operationOf, resultSchema, schemaOf } from './find-schema.ts';
import type { Path } from './find-schema.ts';
import { FormRefused, formSchema } from './form-schema.ts';
import type { FormSchema } from './form-schema.ts';

export interface FormQuestion {
  /** Path of the service descriptor in the package. */
  readonly file: string;
  /** Of the endpoint, with a leading slash. */
  readonly path: string;
  readonly method: string;
  /** Media types that it takes. */
  readonly accepts: readonly string[];
}

export interface FormJob {
  readonly endpoints: readonly FormQuestion[];
  /** By file; null for one that is not in the package. */
  readonly texts: ReadonlyMap<string, string | null>;
}

/** `forms`: JSON texts, in the order of the endpoints. */
export type FormAnswer =
  | { readonly kind: 'needs'; readonly file: string }
  | { readonly kind: 'ready'; readonly forms: readonly string[] };

/** What a person needs to call an endpoint. */
export interface FormParts {
  readonly summary?: string;
  readonly description?: string;
  /** Of the input: null where none is declared, or it cannot be told. */
  readonly schema: FormSchema | null;
  readonly responseSchema: FormSchema | null;
  readonly examples: readonly FormExample[];
  /** Why something of it is missing. */
  readonly problem?: string;
}

export interface FormExample {
  readonly name: string;
  readonly summary?: string;
  /** Media type of the input. */
  readonly contentType: string;
  /** Undefined for a call without a body; a text where the media type is not JSON. */
  readonly input?: unknown;
  /** Of worked examples: what the call must give. */
  readonly expected?: { readonly result: unknown; readonly tolerance: number } | { readonly error: string };
}

const MOST_EXAMPLES = 100;
const MAX_TEXT_CHARACTERS = 4000;
/** Of one endpoint, and of all of a knowledge object. */
const MAX_FORM_CHARACTERS = 512 * 1024;
const MAX_CHARACTERS = 4 * 1024 * 1024;
const JSON_TYPE = 'application/json';

parentPort?.on('message', (job: FormJob) => parentPort?.postMessage(read(job)));

function read({ endpoints, texts }: FormJob): FormAnswer {
  try {
    const worked = readWorked(texts.get(EXAMPLES_FILE) ?? '');
    const documents = new Map<string, TextDocuments>();
    let left = MAX_CHARACTERS;
    const forms = endpoints.map((question) => {
      const text = toText(formOf(question, texts, documents, worked), Math.min(left, MAX_FORM_CHARACTERS));
      left -= text.length;
      return text;
    });
    return { kind: 'ready', forms };
  } catch (thrown) {
    if (thrown instanceof NeedsFile) return { kind: 'needs', file: thrown.file };
    throw thrown;
  }
}

interface Worked {
  readonly examples: readonly WorkedExample[];
  readonly problem?: string;
}

function readWorked(text: string): Worked {
  try {
    const { examples, problems } = parseWorkedExamples(text);
    const [first] = problems;
    if (first === undefined) return { examples };
    const { file, line, message } = first;
    return { examples, problem: message.startsWith(file) ? message : `${file} line ${line ?? 1}: ${message}` };
  } catch (thrown) {
    return { examples: [], problem: `${EXAMPLES_FILE} cannot be read: ${messageOf(thrown)}` };
  }
}

function toText(parts: FormParts, most: number): string {
  const text = JSON.stringify(parts);
  if (text.length <= most) return text;
  return JSON.stringify({ schema: null, responseSchema: null, examples: [], problem: 'it is too large for a form' });
}

function formOf(
  question: FormQuestion,
  texts: FormJob['texts'],
  known: Map<string, TextDocuments>,
  worked: Worked,
): FormParts {
  const examples = worked.examples
    .filter(({ endpoint, method }) => endpoint === question.path && method === question.method)
    .map(ofWorked);
  try {
    let documents = known.get(question.file);
    if (documents === undefined) known.set(question.file, (documents = new TextDocuments(texts, question.file)));
    return describedForm(question, documents, examples, worked.problem);
  } catch (thrown) {
    if (thrown instanceof NeedsFile) throw thrown;
    const reason = thrown instanceof RangeError ? 'it is nested too deeply' : messageOf(thrown);
    return { schema: null, responseSchema: null, examples, problem: reason.slice(0, MAX_TEXT_CHARACTERS) };
  }
}

function describedForm(
  { file, path, method, accepts }: FormQuestion,
  documents: TextDocuments,
  worked: readonly FormExample[],
  workedProblem: string | undefined,
): FormParts {
  const document = readDocument(documents, file);
  const operation = operationOf(document, path, method);
  if (operation === undefined) return { schema: null, responseSchema: null, examples: worked };
  const problems = workedProblem === undefined ? [] : [workedProblem];
  const toSchema = (place: Path | undefined, side: 'readOnly' | 'writeOnly'): FormSchema | null => {
    if (place === undefined) return null;
    try {
      return formSchema(documents, file, place, side);
    } catch (thrown) {
      if (!(thrown instanceof FormRefused)) throw thrown;
      problems.push(thrown.message);
      return null;
    }
  };
  const { summary, description } = fieldsOf(at(document, operation));
  const type = accepts.find((each) => mediaTypeOf(each) === JSON_TYPE) ?? accepts[0] ?? JSON_TYPE;
  const body: Path = [...operation, 'requestBody'];
  const schema = toSchema(method === 'post' ? schemaOf(document, body, type) : undefined, 'readOnly');
  const described = method === 'post' ? accepts.flatMap((each) => describedExamples(document, body, each)) : [];
  const responseSchema = toSchema(resultSchema(document, operation), 'writeOnly');
  return {
    ...textIn('summary', summary),
    ...textIn('description', description),
    schema,
    responseSchema,
    examples: [...worked, ...described].slice(0, MOST_EXAMPLES),
    ...(problems.length > 0 && { problem: problems.join('; ').slice(0, MAX_TEXT_CHARACTERS) }),
  };
}

const textIn = (key: 'summary' | 'description', text: unknown): { summary?: string; description?: string } =>
  typeof text === 'string' && text.trim() !== '' ? { [key]: text.trim().slice(0, MAX_TEXT_CHARACTERS) } : {};

function ofWorked({ name, source, contentType, body, expected, tolerance }: WorkedExample): FormExample {
  return {
    name,
    ...textIn('summary', source),
    contentType,
    ...(body !== undefined && { input: isJson(mediaTypeOf(contentType)) ? (JSON.parse(body) as unknown) : body }),
    expected: expected.kind === 'result' ? { result: expected.value, tolerance } : { error: expected.detail },
  };
}

/** Those beside a schema, else those in it. */
function describedExamples(document: Fields, body: Path, contentType: string): FormExample[] {
  const place = schemaOf(document, body, contentType);
  if (place === undefined) return [];
  const type = contentType.includes('*') ? JSON_TYPE : contentType;
  const usable = (input: unknown): boolean => isJson(mediaTypeOf(type)) || typeof input === 'string';
  const holder = fieldsOf(at(document, place.slice(0, -1)));
  const named = Object.keys(fieldsOf(holder['examples'])).flatMap((name): FormExample[] => {
    const example = fieldsOf(at(document, follow(document, [...place.slice(0, -1), 'examples', name])));
    if (!('value' in example) || !usable(example['value'])) return [];
    return [{ name, ...textIn('summary', example['summary']), contentType: type, input: example['value'] }];
  });
  if ('example' in holder && usable(holder['example']))
    named.unshift({ name: 'Example', contentType: type, input: holder['example'] });
  if (named.length > 0) return named;
  const { example, examples } = fieldsOf(at(document, follow(document, place)));
  const inputs: unknown[] = Array.isArray(examples) ? examples : [];
  const all = example === undefined ? inputs : [example, ...inputs];
  return all
    .filter(usable)
    .map((input, i) => ({ name: all.length === 1 ? 'Example' : `Example ${i + 1}`, contentType: type, input }));
}
