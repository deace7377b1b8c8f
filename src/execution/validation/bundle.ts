/**
 * One schema of a package with all that it refers to, in words that the validator may be given: nothing is fetched,
 * and what cannot be decided is allowed and noted. Schemas come from authors: their size, depth and cycles are bounded.
 */
import { type Fields, isObject } from '../../lib/json.ts';
import { at, type Documents, type Path, readDocument } from './documents.ts';
import {
  type DialectOptions,
  IN_PLACE,
  inNewWords,
  type KeywordKind,
  KEYWORDS,
  patternProblem,
  readReference,
  TYPES,
} from './keywords.ts';
import { FORMATS } from './make-ajv.ts';

export type JsonSchema = boolean | { [key: string]: unknown };

export interface BundledSchema {
  readonly schema: JsonSchema;
  /** What in it is not checked, with its place and the reason. */
  readonly notes: readonly SchemaNote[];
  /** Names of properties that stand in it: other names are a caller's. */
  readonly names: ReadonlySet<string>;
}

export interface SchemaNote {
  readonly file: string;
  readonly path: Path;
  readonly message: string;
}

/** It cannot be checked with; the message says why. */
export class SchemaRefused extends Error {
  override readonly name = 'SchemaRefused';
}

export type BundleOptions = Omit<DialectOptions, 'isOld'>;

/** Schemas, and values in `enum`. */
const MOST_PARTS = 20_000;
const MOST_DEPTH = 100;
const MOST_NOTES = 50;

/** What is not known: allowed. */
export const ANYTHING: JsonSchema = Object.freeze({});

interface Definition {
  readonly name: string;
  readonly file: string;
  readonly path: Path;
}

/** Where the walk through a schema is. */
interface Place extends Definition {
  readonly depth: number;
  /** It is of the same value as the definition that it stands in. */
  readonly isInPlace: boolean;
}

/** @throws SchemaRefused; NeedsFile. */
export function bundle(documents: Documents, file: string, path: Path, options: BundleOptions): BundledSchema {
  return new Bundler(documents, options).bundle(file, path);
}

class Bundler {
  readonly #documents: Documents;
  readonly #options: BundleOptions;
  readonly #known = new Map<string, Definition>();
  readonly #left: Definition[] = [];
  readonly #defs: { [name: string]: JsonSchema } = {};
  /** By definition, those that it refers to: for the same value, and at all. */
  readonly #sameValue = new Map<string, Set<string>>();
  readonly #references = new Map<string, Set<string>>();
  /** Schemas of which something is left out. */
  readonly #lossy = new Set<JsonSchema>();
  readonly #notes: SchemaNote[] = [];
  readonly #names = new Set<string>();
  #parts = 0;

  constructor(documents: Documents, options: BundleOptions) {
    this.#documents = documents;
    this.#options = options;
  }

  bundle(file: string, path: Path): BundledSchema {
    const { name: root } = this.#define(file, path);
    for (let next = this.#left.shift(); next !== undefined; next = this.#left.shift()) {
      const value = at(readDocument(this.#documents, next.file), next.path);
      this.#defs[next.name] = this.#translate(value, { ...next, depth: 0, isInPlace: true });
    }
    this.#breakCycles();
    relax(this.#defs, this.#references, this.#lossy, ANYTHING);
    return { schema: { $ref: refTo(root), $defs: this.#defs }, notes: this.#notes, names: this.#names };
  }

  #define(file: string, path: Path): Definition {
    const key = JSON.stringify([file, ...path]);
    let found = this.#known.get(key);
    if (found === undefined) {
      found = { name: `d${this.#known.size}`, file, path };
      this.#known.set(key, found);
      this.#left.push(found);
    }
    return found;
  }

  #translate(value: unknown, place: Place): JsonSchema {
    this.#count(1);
    if (place.depth > MOST_DEPTH) throw new SchemaRefused(`${whereIs(place)} is nested too deeply`);
    if (typeof value === 'boolean') return value;
    if (!isObject(value)) return this.#anything(place, 'it is no schema');
    const isOld = /^[0-2]|^3\.0|^3$/.test(this.#documents.of(place.file).openapi);
    const source = inNewWords(value, { ...this.#options, isOld });
    const schema: { [key: string]: unknown } = {};
    for (const [key, kind] of KEYWORDS) {
      const word = Object.hasOwn(source, key) ? source[key] : undefined;
      if (word === undefined) continue;
      const inner = { ...place, path: [...place.path, key], isInPlace: place.isInPlace && IN_PLACE.has(key) };
      const read = this.#read(kind, word, inner);
      if (read !== undefined) schema[key] = read;
      else if (kind !== 'format') this.#lossy.add(schema);
    }
    const reference = source['$ref'] ?? source['$dynamicRef'];
    if (typeof reference !== 'string') return schema;
    const target = this.#follow(reference, place);
    if (Object.keys(schema).length === 0) return target;
    const all = Array.isArray(schema['allOf']) ? (schema['allOf'] as JsonSchema[]) : [];
    return this.#keepLoss(schema, { ...schema, allOf: [...all, target] });
  }

  #keepLoss(from: JsonSchema, to: JsonSchema): JsonSchema {
    if (this.#lossy.has(from)) this.#lossy.add(to);
    return to;
  }

  /** Undefined for what cannot be checked. */
  #read(kind: KeywordKind, word: unknown, place: Place): unknown {
    const read = this.#readAs(kind, word, place);
    if (read === undefined && kind !== 'format' && kind !== 'pattern')
      this.#note(place, `${place.path.at(-1) ?? ''} is not what it must be, so it is not checked`);
    return read;
  }

  #readAs(kind: KeywordKind, word: unknown, place: Place): unknown {
    switch (kind) {
      case 'schema':
        return this.#translate(word, deeper(place));
      case 'schemas':
        return Array.isArray(word) && word.length > 0
          ? word.map((each, i) => this.#translate(each, deeper(place, String(i))))
          : undefined;
      case 'properties':
        return isObject(word) ? this.#properties(word, place) : undefined;
      case 'number':
        return isNumber(word) ? word : undefined;
      case 'positive':
        return isNumber(word) && word > 0 ? word : undefined;
      case 'count':
        return isNumber(word) && Number.isInteger(word) && word >= 0 ? word : undefined;
      case 'flag':
        return typeof word === 'boolean' ? word : undefined;
      case 'names':
        return this.#texts(word);
      case 'name lists':
        return isObject(word) && Object.values(word).every((each) => this.#texts(each) !== undefined)
          ? { ...word }
          : undefined;
      case 'types':
        return typesOf(word);
      case 'values':
        if (!Array.isArray(word) || word.length === 0) return undefined;
        this.#countValue(word, place);
        return word;
      case 'value':
        this.#countValue(word, place);
        return word;
      case 'pattern':
        return typeof word === 'string' && this.#isPattern(word, place) ? word : undefined;
      case 'format':
        return typeof word === 'string' && FORMATS.has(word) ? word : undefined;
    }
  }

  #properties(word: Fields, place: Place): Fields {
    const read: { [key: string]: JsonSchema } = {};
    const isPatterns = place.path.at(-1) === 'patternProperties';
    for (const [name, each] of Object.entries(word)) {
      // The validator leaves out this name, which no program means.
      if (name === '__proto__' || (isPatterns && !this.#isPattern(name, place))) continue;
      if (!isPatterns) this.#names.add(name);
      read[name] = this.#translate(each, deeper(place, name));
    }
    return read;
  }

  #texts(word: unknown): string[] | undefined {
    if (!Array.isArray(word) || !word.every((each) => typeof each === 'string')) return undefined;
    this.#count(word.length);
    for (const each of word) this.#names.add(each);
    return [...new Set(word)];
  }

  #isPattern(source: string, place: Place): boolean {
    this.#count(source.length / 10);
    const problem = patternProblem(source);
    if (problem !== undefined)
      this.#note(place, `the pattern ${JSON.stringify(source.slice(0, 60))} is not checked: ${problem}`);
    return problem === undefined;
  }

  #follow(text: string, place: Place): JsonSchema {
    const reference = readReference(text, place.file);
    // "Remote ones never fetched", which is no fault.
    if (reference === undefined) return ANYTHING;
    const { file } = reference;
    const document = readDocument(this.#documents, file);
    const path = 'pointer' in reference ? reference.pointer : this.#documents.of(file).anchors.get(reference.anchor);
    if (path === undefined || at(document, path) === undefined)
      return this.#anything(
        { ...place, path: [...place.path, '$ref'] },
        `$ref ${JSON.stringify(text.slice(0, 100))} leads to nothing in the package`,
      );
    const { name } = this.#define(file, path);
    addTo(this.#references, place.name, name);
    if (place.isInPlace) addTo(this.#sameValue, place.name, name);
    return { $ref: refTo(name) };
  }

  /** Definitions that say of a value what they say of it themselves would never end. */
  #breakCycles(): void {
    const done = new Set<string>();
    const open = new Set<string>();
    const visit = (name: string): void => {
      open.add(name);
      for (const next of this.#sameValue.get(name) ?? []) {
        if (open.has(next)) {
          const definition = [...this.#known.values()].find((each) => each.name === next);
          this.#defs[next] = ANYTHING;
          if (definition !== undefined) this.#note(definition, 'it refers to itself, so it is not checked');
        } else if (!done.has(next)) visit(next);
      }
      open.delete(name);
      done.add(name);
    };
    for (const name of this.#sameValue.keys()) if (!done.has(name)) visit(name);
  }

  #anything(place: Definition, message: string): JsonSchema {
    this.#note(place, `${message}, so anything is allowed there`);
    return ANYTHING;
  }

  #note({ file, path }: Definition, message: string): void {
    if (this.#notes.length < MOST_NOTES) this.#notes.push({ file, path, message });
  }

  #count(parts: number): void {
    this.#parts += parts;
    if (this.#parts > MOST_PARTS) throw new SchemaRefused(`the schema has more than ${MOST_PARTS} parts`);
  }

  #countValue(value: unknown, place: Place): void {
    if (place.depth > MOST_DEPTH) throw new SchemaRefused(`${whereIs(place)} is nested too deeply`);
    this.#count(1);
    if (typeof value !== 'object' || value === null) return;
    for (const each of Object.values(value)) this.#countValue(each, deeper(place));
  }
}

const refTo = (name: string): string => `#/$defs/${name}`;

const deeper = (place: Place, key?: string): Place => ({
  ...place,
  path: key === undefined ? place.path : [...place.path, key],
  depth: place.depth + 1,
});

export const whereIs = ({ file, path }: Pick<SchemaNote, 'file' | 'path'>): string =>
  `${file}#/${path.map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

function typesOf(word: unknown): string[] | undefined {
  const types: readonly unknown[] = Array.isArray(word) ? word : [word];
  const known = types.filter((each): each is string => typeof each === 'string' && TYPES.has(each));
  return known.length > 0 && known.length === types.length ? [...new Set(known)] : undefined;
}

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, new Set([value]));
  else values.add(value);
}

/** Lets pass what may be right: where a part of a schema is not known, "exactly one" and "not" cannot be decided. */
type Schemas = Readonly<Record<string, unknown>>;

/** Changes the definitions. `lossy`: schemas of which a part is left out; `anything`: what stands for those not known. */
function relax(
  defs: Schemas,
  references: ReadonlyMap<string, ReadonlySet<string>>,
  lossy: ReadonlySet<unknown>,
  anything: unknown,
): void {
  const holds = (value: unknown, unknown: ReadonlySet<string>): boolean => {
    if (value === anything || lossy.has(value)) return true;
    if (Array.isArray(value)) return value.some((each) => holds(each, unknown));
    if (!isObject(value)) return false;
    const reference = value['$ref'];
    if (typeof reference === 'string' && unknown.has(reference.slice(reference.lastIndexOf('/') + 1))) return true;
    return Object.entries(value).some(([key, each]) => key !== 'enum' && key !== 'const' && holds(each, unknown));
  };
  const unknown = new Set(Object.keys(defs).filter((name) => holds(defs[name], new Set())));
  if (unknown.size === 0) return;
  const users = new Map<string, string[]>();
  for (const [user, used] of references) for (const each of used) users.set(each, [...(users.get(each) ?? []), user]);
  const left = [...unknown];
  for (let next = left.pop(); next !== undefined; next = left.pop())
    for (const user of users.get(next) ?? []) {
      if (unknown.has(user)) continue;
      unknown.add(user);
      left.push(user);
    }

  const change = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(change);
    if (!isObject(value) || value === anything) return;
    const schema = value as Record<string, unknown>;
    for (const [key, each] of Object.entries(schema)) if (key !== 'enum' && key !== 'const') change(each);
    if (holds(schema['not'], unknown)) delete schema['not'];
    if (holds(schema['if'], unknown)) for (const key of ['if', 'then', 'else']) delete schema[key];
    if (holds(schema['contains'], unknown)) delete schema['maxContains'];
    if (Array.isArray(schema['oneOf']) && holds(schema['oneOf'], unknown)) delete schema['oneOf'];
    const isPartOf = 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema;
    if (isPartOf && holds(schema, unknown))
      for (const key of ['unevaluatedProperties', 'unevaluatedItems']) delete schema[key];
  };
  for (const name of unknown) change(defs[name]);
}
