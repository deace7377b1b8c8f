/**
 * JSON-LD in its usual spellings: terms with or without a prefix or as full addresses, values as text, in a list, or as
 * `{"@id"}` and `{"@value"}`. The vocabularies are those of the contexts that knowledge objects name; none is fetched.
 */
import { type Fields, isObject } from '../lib/json.ts';

/** Where a term comes from; empty for one that is written without a prefix. */
export type Vocabulary = '' | 'koio' | 'dc' | 'schema';

interface Spelled {
  /** As it is written. */
  readonly key: string;
  readonly value: unknown;
}

const PREFIXES: ReadonlyMap<string, Vocabulary> = new Map([
  ['koio', 'koio'],
  ['dc', 'dc'],
  ['dct', 'dc'],
  ['dcterms', 'dc'],
  ['schema', 'schema'],
  ['sdo', 'schema'],
]);

/** Behind `http://` or `https://` and `www.`. */
const ADDRESSES: readonly (readonly [start: string, vocabulary: Vocabulary])[] = [
  ['kgrid.org/koio', 'koio'],
  ['purl.org/dc/elements/1.1/', 'dc'],
  ['purl.org/dc/terms/', 'dc'],
  ['schema.org/', 'schema'],
];

/** What counts first where a term is there in several spellings. */
const ORDER: readonly Vocabulary[] = ['', 'koio', 'dc', 'schema'];

/** Lists in lists, and objects in objects. */
const MAX_DEPTH = 8;

/** Names that a `@context` in the metadata itself gives to addresses. */
type Names = ReadonlyMap<string, string>;

export class LinkedObject {
  readonly #fields: Fields;
  readonly #names: Names;
  readonly #terms = new Map<string, Spelled>();

  private constructor(fields: Fields, names: Names) {
    this.#fields = fields;
    this.#names = names;
    for (const [key, value] of Object.entries(fields)) {
      const term = termOf(key, names);
      if (term !== undefined && value !== undefined && value !== null && !this.#terms.has(term))
        this.#terms.set(term, { key, value });
    }
  }

  /** The outermost object, which has the context. */
  static of(fields: Fields): LinkedObject {
    return new LinkedObject(fields, namesOf(fields['@context']));
  }

  /** The first of these vocabularies in which the term is there. */
  find(term: string, order: readonly Vocabulary[] = ORDER): Spelled | undefined {
    for (const vocabulary of order) {
      const found = this.#terms.get(`${vocabulary}:${term}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** True where a term is written in this vocabulary, and not by its bare name. */
  speaks(vocabulary: Vocabulary): boolean {
    for (const term of this.#terms.keys()) if (term.startsWith(`${vocabulary}:`)) return true;
    return false;
  }

  text(term: string, order?: readonly Vocabulary[]): string | undefined {
    return this.texts(term, order)[0];
  }

  /** All texts of a term, in their order. */
  texts(term: string, order?: readonly Vocabulary[]): string[] {
    return textsOf(this.find(term, order)?.value);
  }

  /** What stands for each thing of a term: its name or title where it is an object that has one, else its text. */
  names(term: string, order?: readonly Vocabulary[]): string[] {
    return itemsOf(this.find(term, order)?.value).flatMap((item) => {
      if (!isObject(item)) return textsOf(item);
      const node = new LinkedObject(item, this.#names);
      const name = node.text('name') ?? node.text('title') ?? node.text('label');
      return name === undefined ? textsOf(item['@value'] ?? item['@id']) : [name];
    });
  }

  /** All objects of a term; a text is one that has only this `@id`. */
  objects(term: string, order?: readonly Vocabulary[]): LinkedObject[] {
    return itemsOf(this.find(term, order)?.value).flatMap((item) => {
      if (typeof item === 'string') return [new LinkedObject({ '@id': item }, this.#names)];
      return isObject(item) ? [new LinkedObject(item, this.#names)] : [];
    });
  }

  get id(): string | undefined {
    return textsOf(this.#fields['@id'])[0];
  }

  /** As written. */
  get types(): readonly string[] {
    return textsOf(this.#fields['@type']);
  }
}

/** The texts of contexts that are named, not those of contexts that stand in the metadata. */
export const contextsOf = (fields: Fields): string[] =>
  itemsOf(fields['@context']).filter((item) => typeof item === 'string');

function textsOf(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (depth > MAX_DEPTH) return [];
  return itemsOf(value).flatMap((item) => {
    if (!isObject(item)) return textsOf(item, depth + 1);
    return textsOf(item['@value'] ?? item['@id'], depth + 1);
  });
}

/** The items of a list in any of its forms; of what is none, itself. */
function itemsOf(value: unknown): unknown[] {
  const list = isObject(value) ? (value['@list'] ?? value['@set'] ?? value) : value;
  if (Array.isArray(list)) return list as unknown[];
  return list === undefined || list === null ? [] : [list];
}

/** `<vocabulary>:<term>`; undefined for what is of none. */
function termOf(key: string, names: Names): string | undefined {
  if (key.startsWith('@')) return undefined;
  const colon = key.indexOf(':');
  const meant = names.get(key);
  const named = meant === undefined ? undefined : spelled(meant, names);
  if (colon < 0) return named === undefined || named.endsWith(`:${key}`) ? `:${key}` : named;
  return spelled(key, names) ?? named;
}

/** Of a term with a prefix, or of a full address. */
function spelled(text: string, names: Names): string | undefined {
  const [, rest] = /^https?:\/\/(?:www\.)?(.+)$/s.exec(text) ?? [];
  if (rest !== undefined) {
    const [, vocabulary] = ADDRESSES.find(([start]) => rest.startsWith(start)) ?? [];
    const term = rest.slice(Math.max(rest.lastIndexOf('/'), rest.lastIndexOf('#')) + 1);
    return vocabulary === undefined ? undefined : `${vocabulary}:${term}`;
  }
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  const prefix = text.slice(0, colon);
  const vocabulary = PREFIXES.get(prefix);
  if (vocabulary !== undefined) return `${vocabulary}:${text.slice(colon + 1)}`;
  const address = names.get(prefix);
  return address === undefined || !address.startsWith('http')
    ? undefined
    : spelled(address + text.slice(colon + 1), names);
}

/** "A `@context` is a URL, an object, or a list"; what an object does not say in this way is ignored. */
function namesOf(context: unknown): Names {
  const names = new Map<string, string>();
  for (const item of itemsOf(context)) {
    for (const [name, value] of isObject(item) ? Object.entries(item) : []) {
      const meant = isObject(value) ? value['@id'] : value;
      if (typeof meant === 'string' && !name.startsWith('@')) names.set(name, meant);
    }
  }
  return names;
}
