/** The files of a package that hold schemas, as they are asked for. */
import { readYamlTree } from '../../knowledge-object/descriptors/yaml-tree.ts';
import { isObject } from '../../lib/fields.ts';
import type { Fields } from '../../lib/fields.ts';
import type { Path } from './find-schema.ts';

export interface SchemaDocument {
  readonly value: Fields;
  /** The version of OpenAPI in whose words its schemas are. */
  readonly openapi: string;
  /** Places with a name of their own. */
  readonly anchors: ReadonlyMap<string, Path>;
}

export interface Documents {
  of(file: string): SchemaDocument;
}

/** A file is wanted that was not given. */
export class NeedsFile extends Error {
  override readonly name = 'NeedsFile';
  readonly file: string;

  constructor(file: string) {
    super(`${file} is needed`);
    this.file = file;
  }
}

export const readDocument = (documents: Documents, file: string): Fields => documents.of(file).value;

/** Of texts by file; null for one that is not in the package. */
export class TextDocuments implements Documents {
  readonly #texts: ReadonlyMap<string, string | null>;
  readonly #read = new Map<string, SchemaDocument>();
  /** A schema file beside an OpenAPI document is in the words of that. */
  readonly #standard: string;

  constructor(texts: ReadonlyMap<string, string | null>, main: string) {
    this.#texts = texts;
    this.#standard = OLD;
    this.#standard = this.of(main).openapi;
  }

  /** @throws NeedsFile; importRefused where it cannot be read. */
  of(file: string): SchemaDocument {
    let found = this.#read.get(file);
    if (found !== undefined) return found;
    const text = this.#texts.get(file);
    if (text === undefined) throw new NeedsFile(file);
    found = documentOf(text === null ? {} : readPlain(text, file), this.#standard);
    this.#read.set(file, found);
    return found;
  }
}

/** Where none is named. */
const OLD = '3.0';

export function documentOf(value: Fields, standard = OLD): SchemaDocument {
  const { openapi } = value;
  const anchors = new Map<string, Path>();
  collectAnchors(value, [], anchors);
  return { value, openapi: versionOf(openapi) ?? standard, anchors };
}

/** Without quotes, `3.1` is a number. */
const versionOf = (openapi: unknown): string | undefined =>
  typeof openapi === 'string' ? openapi : typeof openapi === 'number' ? openapi.toString() : undefined;

function readPlain(text: string, file: string): Fields {
  const tree = readYamlTree(text, file);
  return Object.fromEntries([...tree.root].map(([key, { node }]) => [key, tree.value(node)]));
}

function collectAnchors(value: unknown, path: Path, into: Map<string, Path>): void {
  if (Array.isArray(value)) return value.forEach((each, i) => collectAnchors(each, [...path, String(i)], into));
  if (!isObject(value)) return;
  for (const [key, each] of Object.entries(value)) {
    if ((key === '$anchor' || key === '$dynamicAnchor') && typeof each === 'string' && !into.has(each))
      into.set(each, path);
    else if (typeof each === 'object') collectAnchors(each, [...path, key], into);
  }
}
