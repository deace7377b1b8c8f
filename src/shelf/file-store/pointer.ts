import { koKey, parseKoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { artifactsOf, describePackage, type HashedFile, type PackageContent } from './package-content.ts';

const FORMAT = 1;

/** What a pointer file says: the content of a KO, and the folder below `objects/` that has its files. */
export interface Pointer {
  readonly content: PackageContent;
  readonly folder: string;
}

export function renderPointer(pointer: Pointer): string {
  return JSON.stringify(fieldsOf(pointer), null, 1);
}

/** A record lies beside its package and says what its pointer does: the index can be made from them again. */
export function renderRecord(pointer: Pointer, stored: Date): string {
  return JSON.stringify({ ...fieldsOf(pointer), stored: stored.toISOString() }, null, 1);
}

/** What is kept says what its pointer did; of a folder of a person, where in `.removed/` it lies. */
export function renderKept(content: PackageContent, place: { folder: string } | { removed: string }): string {
  const folder = 'folder' in place ? place.folder : content.artifactsDigest;
  return JSON.stringify({ ...fieldsOf({ content, folder }), ...('removed' in place ? place : {}) }, null, 1);
}

/** The name in `.removed/` that such a text says; undefined where the files are in `objects/`. */
export function placeOfKept(text: string): string | undefined {
  const { removed } = asRecord(JSON.parse(text));
  return typeof removed === 'string' && /^[^/]+$/.test(removed) && !/^\.\.?$/.test(removed) ? removed : undefined;
}

function fieldsOf({ content, folder }: Pointer) {
  const { id, atId, metadata } = content.entry;
  const metadataSha256 = content.files.get(METADATA_FILE)?.sha256;
  const files = artifactsOf(content);
  // The digest keeps its first meaning on the disk, so that another version of the service can read it.
  return {
    format: FORMAT,
    id: koKey(id),
    atId,
    digest: content.artifactsDigest,
    folder,
    files,
    metadataSha256,
    metadata,
  };
}

/** @returns the time at which the package was stored or got its metadata, as sortable text; empty where it is not said. @throws as `parsePointer`. */
export function parseRecord(text: string): { pointer: Pointer; stored: string } {
  const { stored } = asRecord(JSON.parse(text));
  return { pointer: parsePointer(text), stored: typeof stored === 'string' ? stored : '' };
}

/** @throws Error whose message says, for the operator, why this is not a pointer that was written here. */
export function parsePointer(text: string): Pointer {
  const fields = asRecord(JSON.parse(text));
  if (fields.format !== FORMAT) throw new Error(`it has format ${String(fields.format)}, known is ${FORMAT}`);
  const id = parseKoId(asText(fields.id));
  const folder = asText(fields.folder);
  if (id === undefined || !/^[0-9a-f-]+$/.test(folder)) throw new Error('its id or folder is not one');
  if (!Array.isArray(fields.files)) throw new Error('it has no list of files');
  const atId = typeof fields.atId === 'string' ? fields.atId : undefined;
  const content = describePackage(id, asText(fields.metadata), fields.files.map(asFile), atId);
  // The digests cover the list of files and the metadata: a changed byte in either shows.
  if (content.artifactsDigest !== fields.digest || content.files.get(METADATA_FILE)?.sha256 !== fields.metadataSha256) {
    throw new Error('its content does not have the digests that it names');
  }
  return { content, folder };
}

function asFile(value: unknown): HashedFile {
  const { path, size, sha256 } = asRecord(value);
  if (typeof size !== 'number' || !isPackagePath(asText(path))) throw new Error('its list of files is not one');
  return { path: asText(path), size, sha256: asText(sha256) };
}

function asRecord(value: unknown): Partial<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('it is not a JSON object');
  return value;
}

function asText(value: unknown): string {
  if (typeof value !== 'string') throw new Error('a text in it is missing');
  return value;
}
