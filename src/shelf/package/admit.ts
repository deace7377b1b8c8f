/**
 * The one step by which a package becomes part of a shelf, whatever way it comes: as an upload, from a manifest, an archive,
 * a folder or another shelf, as what was removed and comes back, or by new metadata.
 */
import { type KoId, koKey } from '../../knowledge-object/id.ts';
import { METADATA_FILE, otherAtId } from '../../knowledge-object/metadata.ts';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { importRefused } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { isAtHome } from '../entry-of-at-id.ts';
import type { ShelfEntry } from '../shelf.ts';
import { byPath, type HashedFile, linesOf, type PackageContent, packageDigest, sha256 } from './package-content.ts';

/**
 * @param metadata the text or the bytes of `metadata.json`.
 * @param files all files of the package, in any order; its `metadata.json` may be among them, and does not count.
 * @param there what has the place, where a package of another `@id` may not take it.
 * @throws importRefused.
 */
export function admit(
  id: KoId,
  metadata: string | Buffer,
  files: Iterable<HashedFile>,
  there?: ShelfEntry,
): PackageContent {
  const text = typeof metadata === 'string' ? metadata : textOfMetadata(metadata);
  const artifacts = [...files].filter(({ path }) => path !== METADATA_FILE).sort(byPath);
  for (const { path } of artifacts) requirePath(path);
  const metadataFile = { path: METADATA_FILE, size: Buffer.byteLength(text), sha256: sha256(text) };
  const etag = `"${sha256(`${sha256(linesOf(artifacts))} ${metadataFile.sha256}`).slice(0, 32)}"`;
  const all = [...artifacts, metadataFile].sort(byPath);
  const atId = otherAtId(id, text);
  const entry = { id, ...(atId === undefined ? {} : { atId }), metadata: text, digest: packageDigest(all), etag };
  requirePlace(entry, there);
  return { entry, files: new Map(all.map((file) => [file.path, file])) };
}

/** @throws importRefused for what no file of a package may be called. */
export function requirePath(path: string): void {
  if (!isPackagePath(path)) throw importRefused(`${escapeForMessage(path)} cannot be the name of a file in a package.`);
}

/** @throws importRefused when the bytes of a `metadata.json` are not UTF-8. */
export function textOfMetadata(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw importRefused(`${METADATA_FILE} is not UTF-8 text: save it as UTF-8`, { cause });
  }
}

/** "Two different `@id`s that would fall on one place: the second import is refused and both are named." @throws importRefused. */
export function requirePlace(coming: ShelfEntry, there: ShelfEntry | undefined): void {
  if (there === undefined || there.atId === coming.atId || ![there, coming].every(isAtHome)) return;
  const key = koKey(coming.id);
  const [its, other] = [coming, there].map(({ atId = key }) => escapeForMessage(atId));
  throw importRefused(
    `@id ${its ?? ''} falls on the place ${key}, where ${other ?? ''} is on the shelf: give one of them another name or version`,
  );
}
