/**
 * What a package consists of, as an object beside its files: from these alone the rows of a database can be made again.
 * The same package has the same listing.
 */
import { parseKoId, koKey, type KoId } from '../../knowledge-object/id.ts';
import { fieldsOf } from '../../lib/json.ts';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { sha256, type HashedFile, type PackageContent } from '../package/package-content.ts';
import type { Source } from './objects.ts';

const FORMAT = 1;

export interface PackageListing {
  readonly id: KoId;
  readonly files: readonly HashedFile[];
}

/** A row of a file: path, bytes, sha256. */
type FileRow = readonly [string, number, string];

export const renderFiles = (files: Iterable<HashedFile>): string =>
  JSON.stringify([...files].map(({ path, size, sha256 }): FileRow => [path, size, sha256]));

/** @throws Error that says why it is no list that was written here. */
export function parseFiles(text: string): HashedFile[] {
  const rows: unknown = JSON.parse(text);
  if (!Array.isArray(rows)) throw new Error('its list of files is not one');
  return rows.map(asFile);
}

export function renderListing(id: KoId, files: Iterable<HashedFile>): { text: string; digest: string } {
  const text = `{"format":${String(FORMAT)},"id":${JSON.stringify(koKey(id))},"files":${renderFiles(files)}}`;
  return { text, digest: sha256(text) };
}

/** The objects of a package that are known texts: its listing and its metadata. */
export function textsOf({ entry, files }: PackageContent): Source[] {
  const { text, digest } = renderListing(entry.id, files.values());
  return [
    { sha256: digest, size: Buffer.byteLength(text), from: { text }, isListing: true },
    ...[...files.values()]
      .filter(({ path }) => path === METADATA_FILE)
      .map(({ sha256: own, size }) => ({ sha256: own, size, from: { text: entry.metadata } })),
  ];
}

/** @throws Error that says why it is no listing that was written here. */
export function parseListing(text: string): PackageListing {
  const { format, id: key, files } = fieldsOf(JSON.parse(text));
  if (format !== FORMAT) throw new Error(`it has format ${String(format)}, known is ${String(FORMAT)}`);
  const id = typeof key === 'string' ? parseKoId(key) : undefined;
  if (id === undefined || !Array.isArray(files)) throw new Error('it names no knowledge object, or no files');
  return { id, files: files.map(asFile) };
}

function asFile(row: unknown): HashedFile {
  const [path, size, digest] = (Array.isArray(row) ? row : []) as readonly unknown[];
  if (typeof path !== 'string' || !isPackagePath(path) || typeof size !== 'number' || typeof digest !== 'string')
    throw new Error('its list of files is not one');
  return { path, size, sha256: digest };
}
