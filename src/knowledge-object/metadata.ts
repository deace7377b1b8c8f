import { withoutMark } from '../lib/byte-order-mark.ts';
import { importRefused, messageOf } from '../lib/errors.ts';
import type { PackageProblem } from '../lib/errors.ts';
import { hasMore } from '../lib/text.ts';
import { RESERVED_NAANS, parseKoId } from './id.ts';
import type { KoId } from './id.ts';
import { lineOfField, placeOfSyntaxError, reasonOfSyntaxError, sourceOfNumber } from './json-place.ts';
import { escapeForMessage } from './escape-for-message.ts';

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
  const { metadata, problems } = readMetadata(source);
  if (metadata === undefined) throw importRefused(problems.map(({ message }) => message).join('; '), { problems });
  return metadata;
}

/** Commas and brackets: thousands of times what a knowledge object says of itself. */
const MOST_MARKS = 50_000;
const MARKS = /[,[{]/g;

/** Why a text that comes as `metadata.json` would take long to read, each time; undefined when it would not. */
export const tooManyValues = (text: string): string | undefined =>
  hasMore(MARKS, text, MOST_MARKS) ? `holds more than ${MOST_MARKS} values: make it smaller` : undefined;

/** What a `metadata.json` says, as far as it can be read. */
export interface MetadataReading {
  /** Present when there are no problems. */
  readonly metadata?: KoMetadata;
  /** Present when the text is a JSON object; a path that cannot be read is empty. */
  readonly descriptors?: Pick<KoMetadata, 'hasServiceSpecification' | 'hasDeploymentSpecification'>;
  readonly problems: readonly PackageProblem[];
}

/** Reads the text of a `metadata.json` and finds all that keeps it from being used. */
export function readMetadata(source: string): MetadataReading {
  const text = withoutMark(source);
  const problems: PackageProblem[] = [];
  const fields = parseObject(text, problems);
  if (fields === undefined) return { problems };
  const report: Report = (field, message) => problems.push(metadataProblem(text, field, message));
  const id = idOf(fields, report);
  const identifier = textField(fields, 'identifier', report);
  const version =
    typeof fields['version'] === 'number' ? sourceOfNumber(text, 'version') : textField(fields, 'version', report);
  const descriptors = {
    ...defined('hasServiceSpecification', pathField(fields, 'hasServiceSpecification', report)),
    ...defined('hasDeploymentSpecification', pathField(fields, 'hasDeploymentSpecification', report)),
  };
  if (id === undefined || problems.length > 0) return { descriptors, problems };
  const metadata = {
    id,
    ...defined('identifier', identifier),
    ...defined('version', version),
    ...defined('title', looseText(fields['title'])),
    ...defined('description', looseText(fields['description'])),
    ...descriptors,
    text,
  };
  return { metadata, descriptors, problems };
}

/** A problem of a field of the outermost object, with its line where it is there. */
export function metadataProblem(text: string, field: string, message: string): PackageProblem {
  const line = lineOfField(text, field);
  return { message, file: METADATA_FILE, ...(line === undefined ? {} : { line }) };
}

type Fields = Readonly<Record<string, unknown>>;
type Report = (field: string, message: string) => void;

function parseObject(text: string, problems: PackageProblem[]): Fields | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    problems.push(syntaxProblem(text, messageOf(thrown)));
    return undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  problems.push({ message: `${METADATA_FILE} must hold a JSON object`, file: METADATA_FILE, line: 1 });
  return undefined;
}

/** What V8 says of a syntax error, with its place in front and without the excerpt of the text. */
function syntaxProblem(text: string, words: string): PackageProblem {
  const start = `${METADATA_FILE} is not valid JSON:`;
  if (text.trim() === '') return { message: `${start} the file is empty`, file: METADATA_FILE };
  const reason = reasonOfSyntaxError(words);
  const place = placeOfSyntaxError(text, words);
  if (place === undefined) return { message: `${start} ${reason}`, file: METADATA_FILE };
  const { line, column } = place;
  return { message: `${start} line ${line}, column ${column}: ${reason}`, file: METADATA_FILE, line };
}

function idOf(fields: Fields, report: Report): KoId | undefined {
  const value = fields['@id'];
  if (value === undefined) {
    report('@id', `${METADATA_FILE} has no @id: add "@id": "<naan>/<name>/<version>"`);
    return undefined;
  }
  const id = typeof value === 'string' ? parseKoId(value) : undefined;
  if (id === undefined) {
    report(
      '@id',
      `@id in ${METADATA_FILE} is ${written(value)}; it must be "<naan>/<name>/<version>", each part 1 to 64 letters, digits and periods`,
    );
  } else if (RESERVED_NAANS.has(id.naan)) {
    report('@id', `@id in ${METADATA_FILE} has the naan "${id.naan}", which is a path of this service: choose another`);
  }
  return id;
}

function written(value: unknown): string {
  try {
    return escapeForMessage(JSON.stringify(value));
  } catch {
    return 'nested too deeply';
  }
}

/** Empty when it was reported. */
function textField(fields: Fields, name: string, report: Report): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined;
  report(name, `${name} in ${METADATA_FILE} must be a string`);
  return '';
}

/** Empty when it was reported. */
function pathField(fields: Fields, name: string, report: Report): string | undefined {
  const text = textField(fields, name, report);
  const path = text === undefined ? undefined : withoutDot(text);
  if (path === '' && typeof fields[name] === 'string')
    report(name, `${name} in ${METADATA_FILE} is empty: it must be the path of a file`);
  return path;
}

/** A path in a package as people write it: a leading `./` says nothing. */
export const withoutDot = (path: string): string => path.replace(/^(\.\/+)+/, '');

const looseText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const defined = <K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> =>
  value === undefined ? {} : ({ [key]: value } as Partial<Record<K, string>>);
