import { hash } from 'node:crypto';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { importRefused } from '../../lib/errors.ts';
import type { PackageFile, ShelfEntry } from '../shelf.ts';

export interface HashedFile extends PackageFile {
  /** Lower-case hex. */
  readonly sha256: string;
}

/** All that is known of a package without reading its files. */
export interface PackageContent {
  readonly entry: ShelfEntry;
  /** By path, sorted; `metadata.json` included. */
  readonly files: ReadonlyMap<string, HashedFile>;
}

export const sha256 = (data: string | Buffer): string => hash('sha256', data);

/** @param files all files of the package but `metadata.json`, in any order. */
export function describePackage(id: KoId, metadata: string, files: readonly HashedFile[]): PackageContent {
  const sorted = files.toSorted(byPath);
  const digest = packageDigest(sorted);
  const metadataFile = { path: METADATA_FILE, size: Buffer.byteLength(metadata), sha256: sha256(metadata) };
  const etag = `"${sha256(`${digest} ${metadataFile.sha256}`).slice(0, 32)}"`;
  return {
    entry: { id, metadata, digest, etag },
    files: new Map([...sorted, metadataFile].sort(byPath).map((file) => [file.path, file])),
  };
}

/** The digest of what `sha256sum` prints for the files, sorted by path: anybody can compute it again. */
const packageDigest = (sorted: readonly HashedFile[]): string =>
  sha256(sorted.map((file) => `${file.sha256}  ${file.path}\n`).join(''));

const byPath = (a: HashedFile, b: HashedFile): number => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);

/** All files but `metadata.json`, as `describePackage` takes them. */
export const artifactsOf = (content: PackageContent): HashedFile[] =>
  [...content.files.values()].filter((file) => file.path !== METADATA_FILE);

/** The key of an entry in maps. */
export const keyOf = (content: PackageContent): string => koKey(content.entry.id);

/** @throws importRefused when the bytes of a `metadata.json` are not UTF-8. */
export function textOfMetadata(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw importRefused(`${METADATA_FILE} is not UTF-8 text: save it as UTF-8`);
  }
}
