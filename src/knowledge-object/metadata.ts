import { importRefused, messageOf } from '../lib/errors.ts';
import { RESERVED_NAANS, parseKoId } from './id.ts';
import type { KoId } from './id.ts';
import { shown } from './shown.ts';

/** The name of the metadata file, at the root of every package. */
export const METADATA_FILE = 'metadata.json';

/** What the service reads of a `metadata.json`; everything else in it is kept in `text` alone. */
export interface KoMetadata {
  /** From `@id`. */
  readonly id: KoId;
  /** As written, such as `ark:/<naan>/<name>/<version>`. */
  readonly identifier?: string;
  /** As written; a number is taken by its source, so that `1.0` stays `1.0`. */
  readonly version?: string;
  readonly title?: string;
  readonly description?: string;
  /** Path of the service descriptor in the package. */
  readonly hasServiceSpecification?: string;
  /** Path of the deployment descriptor in the package. */
  readonly hasDeploymentSpecification?: string;
  /** The JSON text as it was read, without a byte order mark: fit to stand inside another JSON text. */
  readonly text: string;
}

/**
 * Reads the text of a `metadata.json`.
 * @throws importRefused when it is not a JSON object with an `@id` of the form `<naan>/<name>/<version>`, when
 * the naan is one of the service's own paths, or when a field that the service relies on is not a string.
 */
export function parseMetadata(source: string): KoMetadata {
  const text = source.startsWith('\uFEFF') ? source.slice(1) : source;
  const fields = parseObject(text);
  const version = typeof fields['version'] === 'number' ? sourceOfVersion(text) : textField(fields, 'version');
  return {
    id: idOf(fields),
    ...defined('identifier', textField(fields, 'identifier')),
    ...defined('version', version),
    ...defined('title', looseText(fields['title'])),
    ...defined('description', looseText(fields['description'])),
    ...defined('hasServiceSpecification', pathField(fields, 'hasServiceSpecification')),
    ...defined('hasDeploymentSpecification', pathField(fields, 'hasDeploymentSpecification')),
    text,
  };
}

type Fields = Readonly<Record<string, unknown>>;

function parseObject(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw importRefused(`${METADATA_FILE} is not valid JSON: ${placeOf(text, cause)}`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw importRefused(`${METADATA_FILE} must hold a JSON object`);
  }
  return value as Fields;
}

/** What V8 says of a syntax error, with its place in front and without the excerpt of the text. */
function placeOf(text: string, cause: unknown): string {
  if (text.trim() === '') return 'the file is empty';
  const message = messageOf(cause);
  const [, line, column] = / \(line (\d+) column (\d+)\)$/.exec(message) ?? [];
  const reason = message.replace(/ in JSON at position .*$/s, '').replace(/, (?:\.\.\.)?".*$/s, '');
  return line === undefined ? reason : `line ${line}, column ${String(column)}: ${reason}`;
}

function idOf(fields: Fields): KoId {
  const value = fields['@id'];
  if (value === undefined) {
    throw importRefused(`${METADATA_FILE} has no @id: add "@id": "<naan>/<name>/<version>"`);
  }
  const id = typeof value === 'string' ? parseKoId(value) : undefined;
  if (id === undefined) {
    throw importRefused(
      `@id in ${METADATA_FILE} is ${shown(JSON.stringify(value))}; it must be "<naan>/<name>/<version>", each part 1 to 64 letters, digits and periods`,
    );
  }
  if (RESERVED_NAANS.has(id.naan)) {
    throw importRefused(
      `@id in ${METADATA_FILE} has the naan "${id.naan}", which is a path of this service: choose another`,
    );
  }
  return id;
}

function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined;
  throw importRefused(`${name} in ${METADATA_FILE} must be a string`);
}

function pathField(fields: Fields, name: string): string | undefined {
  const text = textField(fields, name);
  const path = text === undefined ? undefined : withoutDot(text);
  if (path === '') throw importRefused(`${name} in ${METADATA_FILE} is empty: it must be the path of a file`);
  return path;
}

/** A path in a package as people write it: a leading `./` says nothing. */
export const withoutDot = (path: string): string => path.replace(/^(\.\/+)+/, '');

const looseText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The source of a numeric `version` of the outermost object. */
function sourceOfVersion(text: string): string | undefined {
  const sources = new Map<unknown, string | undefined>();
  const root: unknown = JSON.parse(text, function (this: unknown, key, value: unknown, context?: { source?: string }) {
    if (key === 'version') sources.set(this, context?.source);
    return value;
  });
  return sources.get(root);
}

const defined = <K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> =>
  value === undefined ? {} : ({ [key]: value } as Partial<Record<K, string>>);
