/** `metadata.json`: what a knowledge object says of itself. */
import { posix } from 'node:path';
import { importRefused, type PackageProblem } from '../lib/errors.ts';
import type { Fields } from '../lib/json.ts';
import { escapeForMessage, withoutEndSlashes, withoutMark } from '../lib/text.ts';
import { type KoId, koKey, NEVER_NAANS, parseArk, parseKoId } from './id.ts';
import { contextsOf, LinkedObject } from './linked-data.ts';
import { METADATA_FILE, metadataProblem, parseObject, sourceOfNumber } from './metadata-text.ts';
import { withoutDot } from './package-path.ts';
import { atIdProblem, placeOf, plainAtId, threeParts } from './places.ts';
import { activationServices, type DeclaredServices, namedService, plainType, type ServiceRef } from './service-refs.ts';

export { METADATA_FILE, metadataProblem, tooManyValues } from './metadata-text.ts';

/** What the service reads of a `metadata.json`, of either generation; everything else in it is kept in `text` alone. */
export interface KoMetadata extends DeclaredServices {
  /** Its place on the shelf. */
  readonly id: KoId;
  /** The `@id` as it is written. */
  readonly atId: string;
  /** To be told to people: what differs between the two is said by the other fields. */
  readonly generation: 1 | 2;
  /** As written, such as `ark:/<naan>/<name>/<version>`; of several the first. */
  readonly identifier?: string;
  /** As written; a number is taken by its source, so that `1.0` stays `1.0`. */
  readonly version?: string;
  readonly title?: string;
  readonly description?: string;
  /** What it offers where it deploys nothing: of the second generation only. */
  readonly libraries?: readonly LibraryRef[];
  /** What must name the same knowledge object as its `@id`. */
  readonly claims: Claims;
  /** The JSON text as it was read, without a byte order mark: fit to stand inside another JSON text. */
  readonly text: string;
}

export interface Claims {
  /** Of these identifiers at least one, where there is one. */
  readonly identifiers: readonly string[];
  readonly version?: string;
  /** Paths that may be the address of a service beside `/<naan>/<name>` and `/<naan>/<name>/<apiVersion>`. */
  readonly addresses: readonly string[];
}

/** What tells which files of a package describe and deploy its services. */
export type ReadableMetadata = Pick<KoMetadata, 'services' | 'hasDefaults' | 'text'>;

/**
 * Reads the text of a `metadata.json`.
 * @param defaultNaan of those whose `@id` is a word or a URL.
 * @throws importRefused when it is not a JSON object with an `@id`, when the naan is one of the service's own paths, or
 * when a field that the service relies on is not what it must be.
 */
export function parseMetadata(source: string, defaultNaan?: string): KoMetadata {
  const { metadata, problems } = readMetadata(source, defaultNaan);
  if (metadata === undefined) throw importRefused(problems.map(({ message }) => message).join('; '), { problems });
  return metadata;
}

/** The `@id` in a `metadata.json`, as `plainAtId` gives it, where it is not the text of this place. */
export function otherAtId(place: KoId, metadata: string): string | undefined {
  const atId = parseObject(withoutMark(metadata), [])?.['@id'];
  const plain = typeof atId === 'string' ? plainAtId(atId) : undefined;
  return plain === koKey(place) ? undefined : plain;
}

/** What a `metadata.json` says, as far as it can be read. */
export interface MetadataReading {
  /** Present when there are no problems. */
  readonly metadata?: KoMetadata;
  /** Present when the text is a JSON object. */
  readonly readable?: ReadableMetadata;
  readonly problems: readonly PackageProblem[];
}

/** Reads the text of a `metadata.json` and finds all that keeps it from being used. */
export function readMetadata(source: string, defaultNaan?: string): MetadataReading {
  const text = withoutMark(source);
  const problems: PackageProblem[] = [];
  const fields = parseObject(text, problems);
  if (fields === undefined) return { problems };
  const report: Report = (field, message) => problems.push(metadataProblem(text, field, message));
  const root = LinkedObject.of(fields);
  const from = { fields, root, text, report };
  const parts = isSecondGeneration(from) ? readSecondGeneration(from, defaultNaan) : readFirstGeneration(from);
  const { id, atId, services, hasDefaults } = parts;
  const readable = { services, hasDefaults, text };
  if (id === undefined || atId === undefined || problems.length > 0) return { readable, problems };
  return { metadata: { ...parts, id, atId, text }, readable, problems };
}

/** What a reading of metadata finds out; what was reported may be missing. */
type MetadataParts = Omit<KoMetadata, 'id' | 'atId' | 'text'> & {
  readonly id: KoId | undefined;
  readonly atId: string | undefined;
};

/** The outermost object, whose text is `text`. */
interface MetadataSource {
  readonly fields: Fields;
  /** The same, by its terms. */
  readonly root: LinkedObject;
  readonly text: string;
  readonly report: Report;
}

/** Tells what is wrong with a field of the outermost object. */
type Report = (field: string, message: string) => void;

/** Reads what metadata of the first generation says: fields of one object, each of one type. */
function readFirstGeneration({ fields, root, text, report }: MetadataSource): MetadataParts {
  const id = idOf(fields, report);
  const identifier = textField(fields, 'identifier', report);
  const version =
    typeof fields['version'] === 'number' ? sourceOfNumber(text, 'version') : textField(fields, 'version', report);
  const service = pathField(fields, 'hasServiceSpecification', report);
  const deployment = pathField(fields, 'hasDeploymentSpecification', report);
  return {
    id,
    atId: looseText(fields['@id']),
    generation: 1,
    ...defined('identifier', identifier),
    ...defined('version', version),
    ...defined('title', looseText(fields['title'])),
    ...defined('description', looseText(fields['description'])),
    claims: {
      identifiers: identifier === undefined ? [] : [identifier],
      ...defined('version', version),
      addresses: [],
    },
    services: [namedService({ service, deployment }, root)],
    hasDefaults: false,
  };
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
  } else if (NEVER_NAANS.has(id.naan)) {
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

const looseText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const defined = <K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> =>
  value === undefined ? {} : ({ [key]: value } as Partial<Record<K, string>>);

// Reads what metadata of the second generation says: JSON-LD, in the spellings that people use.

/** "When its metadata holds any of its marks (`koio:kgrid`, a `dc:` term, `hasService`, `hasKnowledge`, a `@context` that names koio/2.x)." */
const isSecondGeneration = ({ fields, root }: Pick<MetadataSource, 'fields' | 'root'>): boolean =>
  root.speaks('dc') ||
  ['kgrid', 'hasService', 'hasKnowledge'].some((term) => root.find(term, ['koio', '']) !== undefined) ||
  contextsOf(fields).some((context) => CONTEXT.test(context));

const CONTEXT = /\/koio\/2(?:\.|\/|$)/;

/** "The version from `dc:version`, `version`, or `v1.0`." */
const DC_FIRST = ['dc', '', 'koio', 'schema'] as const;

/** The first generation's form of a version: `v<major>.<minor>`. */
const VERSION = /^v\d+(?:\.\d+)*$/;

function readSecondGeneration(source: MetadataSource, defaultNaan: string | undefined): MetadataParts {
  const { root, text } = source;
  const atId = atIdOf(source);
  const spelled = root.find('version', DC_FIRST);
  const version =
    typeof spelled?.value === 'number' ? sourceOfNumber(text, spelled.key) : root.text('version', DC_FIRST);
  const identifiers = root.texts('identifier', DC_FIRST);
  const id = atId === undefined ? undefined : placeOf(atId, { version, defaultNaan });
  return {
    id,
    atId,
    generation: 2,
    ...defined('identifier', identifiers[0]),
    ...defined('version', version),
    ...defined('title', root.text('title', DC_FIRST)),
    ...defined('description', root.text('description', DC_FIRST)),
    claims: {
      ...(id === undefined || atId === undefined || threeParts(atId) === undefined
        ? { identifiers: [] }
        : claimed(id, identifiers, version)),
      addresses: atId === undefined ? [] : addressesOf(atId),
    },
    services: servicesOf(root),
    libraries: librariesOf(root),
    hasDefaults: true,
  };
}

/** "Identifier and version need agree only where they have the first generation's form." */
const claimed = (
  id: KoId,
  identifiers: readonly string[],
  version: string | undefined,
): { identifiers: string[]; version?: string } => ({
  identifiers: identifiers.filter((each) => idIn(each) !== undefined),
  ...defined('version', version !== undefined && VERSION.test(version) ? versionLike(id.version, version) : undefined),
});

/** `1.0` at the end of an `@id` names the same as `v1.0`. */
const versionLike = (own: string, version: string): string => (`v${own}` === version ? own : version);

/** "`servers[0].url` may be `/endpoints/<@id>`, `/<@id>`": also with what stands in front of the `@id`. */
const addressesOf = (atId: string): string[] =>
  [...new Set([plainAtId(atId), withoutEndSlashes(atId)])].flatMap((each) => [`/endpoints/${each}`, `/${each}`]);

const idIn = (identifier: string): KoId | undefined => parseArk(identifier) ?? parseKoId(identifier);

function atIdOf({ fields, report }: MetadataSource): string | undefined {
  const value = fields['@id'];
  if (value === undefined || value === null) {
    const inGraph = fields['@graph'] === undefined ? '' : '; what stands in @graph is not read';
    report('@id', `${METADATA_FILE} has no @id: add "@id" with the name of the knowledge object${inGraph}`);
    return undefined;
  }
  const problem = typeof value === 'string' ? atIdProblem(value) : `is ${written(value)}; it must be a text`;
  if (problem !== undefined) {
    report('@id', `@id in ${METADATA_FILE} ${problem}`);
    return undefined;
  }
  return value as string;
}

function servicesOf(root: LinkedObject): readonly ServiceRef[] {
  const named = {
    service: pathOf(root, 'hasServiceSpecification'),
    deployment: pathOf(root, 'hasDeploymentSpecification'),
  };
  const services = activationServices(named, root);
  if (named.deployment === undefined && services.length > 0) return services;
  return [namedService({ ...named, service: named.service ?? services[0]?.specification }, root)];
}

function pathOf(root: LinkedObject, term: string): string | undefined {
  const path = withoutDot(root.text(term) ?? '');
  return path === '' ? undefined : path;
}

// The libraries of a knowledge object that deploys nothing: files whose exported functions can be called.

/** A service of type `library`. */
interface LibraryRef {
  /** By which its default export is called: fit for the path of an endpoint. */
  readonly name: string;
  readonly description?: string;
  /** Paths of files in JavaScript, TypeScript or Python, in their order. */
  readonly files: readonly string[];
}

const ENGINES: ReadonlyMap<string, string> = new Map([
  ...['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts'].map((ending) => [ending, 'node'] as const),
  ['.py', 'python'],
]);

/** The engine that runs a file of a library; undefined where none does. */
export const libraryEngine = (file: string): string | undefined => ENGINES.get(posix.extname(file).toLowerCase());

/** In their order; those that are implemented by other things are left out. */
function librariesOf(root: LinkedObject): LibraryRef[] {
  return root.objects('hasService').flatMap((service) => {
    if (!service.types.some((type) => plainType(type) === 'library')) return [];
    const files = service
      .objects('implementedBy')
      .map(({ id = '' }) => withoutDot(id.trim().replace(/^_:/, '')))
      .filter((file) => libraryEngine(file) !== undefined && !/^[a-z][a-z\d+.-]*:\/\//i.test(file));
    const [first] = files;
    if (first === undefined) return [];
    const description = service.text('description');
    return [
      {
        name: nameOf(service, first),
        ...(description === undefined ? {} : { description }),
        files: [...new Set(files)],
      },
    ];
  });
}

/** The last part of the service's `@id`, or else its name, or that of its file. */
function nameOf(service: LinkedObject, file: string): string {
  const id = withoutEndSlashes((service.id ?? '').replace(/^_:/, ''));
  const words = [
    id.slice(Math.max(id.lastIndexOf('/'), id.lastIndexOf('#'), id.lastIndexOf(':')) + 1),
    ...['name', 'title', 'label'].map((term) => service.text(term) ?? ''),
    posix.basename(file, posix.extname(file)),
  ];
  return words.map(asName).find(isFunctionName) ?? 'library';
}

const asName = (text: string): string =>
  text
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[_.-]+/, '')
    .slice(0, MOST_CHARACTERS);

const MOST_CHARACTERS = 64;
const FUNCTION_NAME = /^[A-Za-z0-9-][A-Za-z0-9_.-]{0,63}$/;

/** "`[A-Za-z0-9_.-]`, not beginning with `_` or `.`." */
export const isFunctionName = (name: string): boolean => FUNCTION_NAME.test(name);
