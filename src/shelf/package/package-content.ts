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
  /** Digest of all files but `metadata.json`: names the folder of an imported package, which later metadata never move. */
  readonly artifactsDigest: string;
  /** By path, sorted; `metadata.json` included. */
  readonly files: ReadonlyMap<string, HashedFile>;
}

export const sha256 = (data: string | Buffer): string => hash('sha256', data);

/**
 * @param files all files of the package but `metadata.json`, in any order.
 * @param atId see `ShelfEntry`: found out when metadata is taken in, so that nothing of it is read at a start.
 */
export function describePackage(
  id: KoId,
  metadata: string,
  files: readonly HashedFile[],
  atId: string | undefined,
): PackageContent {
  const artifacts = files.toSorted(byPath);
  const artifactsDigest = sha256(lines(artifacts));
  const metadataFile = { path: METADATA_FILE, size: Buffer.byteLength(metadata), sha256: sha256(metadata) };
  const etag = `"${sha256(`${artifactsDigest} ${metadataFile.sha256}`).slice(0, 32)}"`;
  const all = [...artifacts, metadataFile].sort(byPath);
  return {
    entry: { id, ...(atId === undefined ? {} : { atId }), metadata, digest: packageDigest(all), etag },
    artifactsDigest,
    files: new Map(all.map((file) => [file.path, file])),
  };
}

/**
 * The digest of a package: sha256 over what `sha256sum` prints for all its files in order of path, so that anybody
 * can compute it again. The order is that of the bytes of the paths.
 */
export const packageDigest = (files: readonly HashedFile[]): string => sha256(lines(files.toSorted(byBytes)));

const lines = (files: readonly HashedFile[]): string => files.map((file) => `${file.sha256}  ${file.path}\n`).join('');

const byPath = (a: HashedFile, b: HashedFile): number => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);

/** Other than by UTF-16 where a path has characters beyond the first 65,536. */
const byBytes = (a: HashedFile, b: HashedFile): number =>
  SURROGATE.test(a.path) || SURROGATE.test(b.path)
    ? Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))
    : byPath(a, b);

const SURROGATE = /[\ud800-\udfff]/;

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
