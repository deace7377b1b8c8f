/**
 * One schema of a package as people's forms need it: with its titles, descriptions and examples, in the words of JSON
 * Schema 2020-12, and with all that it refers to within it. What is checked is the matter of `bundle.ts`.
 */
import { isObject } from '../../lib/fields.ts';
import type { Fields } from '../../lib/fields.ts';
import { readDocument } from './documents.ts';
import type { Documents } from './documents.ts';
import { inNewWords } from './dialect.ts';
import { at } from './find-schema.ts';
import type { Path } from './find-schema.ts';
import { KEYWORDS, TYPES } from './keywords.ts';
import type { KeywordKind } from './keywords.ts';
import { patternProblem } from './linear-pattern.ts';
import { readReference } from './references.ts';

export type FormSchema = boolean | { [key: string]: unknown };

/** It is too large for a form. */
export class FormRefused extends Error {
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
  ...['title', 'description', 'contentMediaType'].map((key) => [key, isText] as const),
  ...['readOnly', 'writeOnly', 'deprecated'].map((key) => [key, isFlag] as const),
  ['examples', isList] as const,
  ['default', isAnything] as const,
]);

interface Place {
  readonly file: string;
  readonly path: Path;
}

/** `ofOtherSide`: what the other side alone writes. @throws FormRefused; NeedsFile; importRefused for a file that cannot be read. */
export function formSchema(
  documents: Documents,
  file: string,
  path: Path,
  ofOtherSide: 'readOnly' | 'writeOnly',
): FormSchema {
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
    const { example, $ref } = source;
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
