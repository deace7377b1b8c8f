import { parseKoId } from '../../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../../knowledge-object/metadata.ts';
import { isPackagePath } from '../../../knowledge-object/package-path.ts';
import { admit } from '../../package/admit.ts';
import { linesOf, sha256, type HashedFile, type PackageContent } from '../../package/package-content.ts';

const FORMAT = 1;

/** What a pointer file says: the content of a KO, and the folder below `objects/` that has its files. */
export interface Pointer {
  readonly content: PackageContent;
  readonly folder: string;
}

/** The name in `.removed/` that such a text says; undefined where the files are in `objects/`. */
export function placeOfKept(text: string): string | undefined {
  const { removed } = asRecord(JSON.parse(text));
  return typeof removed === 'string' && /^[^/]+$/.test(removed) && !/^\.\.?$/.test(removed) ? removed : undefined;
}

/** @throws Error whose message says, for the operator, why this is not a pointer that was written here. */
export function parsePointer(text: string): Pointer {
  const fields = asRecord(JSON.parse(text));
  if (fields.format !== FORMAT) throw new Error(`it has format ${String(fields.format)}, known is ${FORMAT}`);
  const id = parseKoId(asText(fields.id));
  const folder = asText(fields.folder);
  if (id === undefined || !/^[0-9a-f-]+$/.test(folder)) throw new Error('its id or folder is not one');
  if (!Array.isArray(fields.files)) throw new Error('it has no list of files');
  const content = admit(id, asText(fields.metadata), fields.files.map(asFile));
  // The digests cover the list of files and the metadata: a changed byte in either shows.
  const artifacts = [...content.files.values()].filter(({ path }) => path !== METADATA_FILE);
  if (
    sha256(linesOf(artifacts)) !== fields.digest ||
    content.files.get(METADATA_FILE)?.sha256 !== fields.metadataSha256
  ) {
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
