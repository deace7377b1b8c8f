/** The thread of `forms.ts`: reads what forms need of descriptors and worked examples, one knowledge object after the other. */
import { parentPort } from 'node:worker_threads';
import { EXAMPLES_FILE, parseWorkedExamples, type WorkedExample } from '../../knowledge-object/worked-examples.ts';
import { messageOf } from '../../lib/errors.ts';
import { type Fields, fieldsOf, isObject } from '../../lib/json.ts';
import { isJson, mediaTypeOf } from '../../lib/media-type.ts';
import {
  at,
  type Documents,
  follow,
  NeedsFile,
  operationOf,
  type Path,
  readDocument,
  resultSchema,
  schemaOf,
  TextDocuments,
} from './documents.ts';
import { inNewWords, type KeywordKind, KEYWORDS, patternProblem, readReference, TYPES } from './keywords.ts';

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
    expected:
      expected.kind === 'result'
        ? { result: expected.value, tolerance }
        : { error: expected.kind === 'error' ? expected.detail : expected.reason },
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

/**
 * One schema of a package as people's forms need it: with its titles, descriptions and examples, in the words of JSON
 * Schema 2020-12, and with all that it refers to within it. What is checked is the matter of `bundle.ts`.
 */
export type FormSchema = boolean | { [key: string]: unknown };

/** It is too large for a form. */
class FormRefused extends Error {
  override readonly name = 'FormRefused';
}

/** Schemas and values; documents are not nested deeply. */
const MOST_PARTS = 20_000;
const MAX_NAME_CHARACTERS = 60;
const isText = (word: unknown): boolean => typeof word === 'string';
const isFlag = (word: unknown): boolean => typeof word === 'boolean';
const isNumber = (word: unknown): boolean => typeof word === 'number' && Number.isFinite(word);
const isList = (word: unknown): boolean => Array.isArray(word);
const areTexts = (word: unknown): boolean => Array.isArray(word) && word.every(isText);
const isType = (word: unknown): boolean => typeof word === 'string' && TYPES.has(word);
const isAnything = (): boolean => true;

/** What the value of a word must be: whatever reads it may rely on that. */
const VALUES: Readonly<Partial<Record<KeywordKind, (word: unknown) => boolean>>> = {
  number: isNumber,
  positive: isNumber,
  count: isNumber,
  flag: isFlag,
  names: areTexts,
  'name lists': (word) => isObject(word) && Object.values(word).every(areTexts),
  types: (word) => isType(word) || (Array.isArray(word) && word.every(isType)),
  values: isList,
  value: isAnything,
  format: isText,
};
/** Words that tell people something and check nothing. */
const TELLING: ReadonlyMap<string, (word: unknown) => boolean> = new Map([
  ...['title', 'description', 'contentMediaType', 'x-unit'].map((key) => [key, isText] as const),
  ...['readOnly', 'writeOnly', 'deprecated'].map((key) => [key, isFlag] as const),
  ['examples', isList] as const,
  ['default', isAnything] as const,
]);

interface Place {
  readonly file: string;
  readonly path: Path;
}

/** `ofOtherSide`: what the other side alone writes. @throws FormRefused; NeedsFile; importRefused for a file that cannot be read. */
function formSchema(documents: Documents, file: string, path: Path, ofOtherSide: 'readOnly' | 'writeOnly'): FormSchema {
  return new FormBundler(documents, ofOtherSide).bundle(file, path);
}

class FormBundler {
  readonly #documents: Documents;
  readonly #ofOtherSide: 'readOnly' | 'writeOnly';
  /** By place, the names of definitions. */
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #left: (Place & { readonly name: string })[] = [];
  readonly #defs: { [name: string]: FormSchema } = {};
  #parts = 0;

  constructor(documents: Documents, ofOtherSide: 'readOnly' | 'writeOnly') {
    this.#documents = documents;
    this.#ofOtherSide = ofOtherSide;
  }

  bundle(file: string, path: Path): FormSchema {
    const root = this.#schema(at(readDocument(this.#documents, file), path), file);
    for (let next = this.#left.shift(); next !== undefined; next = this.#left.shift()) {
      const value = at(readDocument(this.#documents, next.file), next.path);
      this.#defs[next.name] = this.#schema(value, next.file);
    }
    return typeof root === 'boolean' || this.#taken.size === 0 ? root : { ...root, $defs: this.#defs };
  }

  #schema(value: unknown, file: string): FormSchema {
    this.#count(1);
    if (typeof value === 'boolean') return value;
    if (!isObject(value)) return {};
    const isOld = /^[0-2]|^3\.0|^3$/.test(this.#documents.of(file).openapi);
    const source = inNewWords(value, { isOld, isPartial: false, ofOtherSide: this.#ofOtherSide });
    const schema: { [key: string]: unknown } = {};
    for (const [key, word] of Object.entries(source)) {
      const read = this.#word(key, word, file);
      if (read !== undefined) schema[key] = read;
    }
    const { example, $ref = source['$dynamicRef'] } = source;
    if (example !== undefined && !Array.isArray(schema['examples'])) schema['examples'] = [this.#plain(example)];
    const target = typeof $ref === 'string' ? this.#follow($ref, file) : undefined;
    return target === undefined ? schema : { ...schema, $ref: target };
  }

  #word(key: string, word: unknown, file: string): unknown {
    const kind = KEYWORDS.get(key);
    switch (kind) {
      case undefined:
        return TELLING.get(key)?.(word) === true ? this.#plain(word) : undefined;
      case 'schema':
        return this.#schema(word, file);
      case 'schemas':
        return Array.isArray(word) ? word.map((each) => this.#schema(each, file)) : undefined;
      case 'properties':
        return isObject(word) ? this.#properties(word, key === 'patternProperties', file) : undefined;
      case 'pattern':
        // Browsers would take as long for it as its author likes.
        return typeof word === 'string' && this.#isPattern(word) ? word : undefined;
      default:
        return VALUES[kind]?.(word) === true ? this.#plain(word) : undefined;
    }
  }

  #properties(word: Fields, arePatterns: boolean, file: string): Fields {
    const read: { [key: string]: FormSchema } = {};
    for (const [name, each] of Object.entries(word)) {
      if (name === '__proto__' || (arePatterns && !this.#isPattern(name))) continue;
      read[name] = this.#schema(each, file);
    }
    return read;
  }

  #isPattern(source: string): boolean {
    this.#count(source.length / 10);
    return patternProblem(source) === undefined;
  }

  /** A value as it stands there. */
  #plain<T>(value: T): T {
    this.#count(1);
    if (typeof value === 'object' && value !== null)
      for (const each of Object.values(value)) this.#plain<unknown>(each);
    return value;
  }

  /** Undefined for what is not in the package, where anything may stand. */
  #follow(text: string, from: string): string | undefined {
    const reference = readReference(text, from);
    if (reference === undefined) return undefined;
    const { file } = reference;
    const document = readDocument(this.#documents, file);
    const path = 'pointer' in reference ? reference.pointer : this.#documents.of(file).anchors.get(reference.anchor);
    return path === undefined || at(document, path) === undefined ? undefined : `#/$defs/${this.#define(file, path)}`;
  }

  #define(file: string, path: Path): string {
    const key = JSON.stringify([file, ...path]);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    // People read it where the schema has no title.
    const wanted = (path.at(-1) ?? file).replace(/[^\w.-]/g, '_').slice(0, MAX_NAME_CHARACTERS);
    let name = wanted === '__proto__' || wanted === '' ? 'schema' : wanted;
    for (let i = 2; this.#taken.has(name); i++) name = `${wanted}-${i}`;
    this.#taken.add(name);
    this.#names.set(key, name);
    this.#left.push({ name, file, path });
    return name;
  }

  #count(parts: number): void {
    this.#parts += parts;
    if (this.#parts > MOST_PARTS) throw new FormRefused(`the schema has more than ${MOST_PARTS} parts`);
  }
}
