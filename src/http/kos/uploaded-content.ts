/** What a package that was uploaded holds, by the digests of its files, and in what it differs from the one on the shelf. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { koKey } from '../../knowledge-object/id.ts';
import type { KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE, readMetadata } from '../../knowledge-object/metadata.ts';
import { openArchive } from '../../shelf/archive/open-archive.ts';
import { packageDigest } from '../../shelf/package/package-content.ts';
import type { HashedFile } from '../../shelf/package/package-content.ts';
import { packageRoot } from '../../shelf/import/import-zip.ts';
import type { PackageLimits } from '../../shelf/import/limits.ts';
import type { KoPackage, Shelf } from '../../shelf/shelf.ts';

export interface UploadedContent {
  /** Undefined where its metadata do not say it. */
  readonly id: KoId | undefined;
  /** sha256, as hex. */
  readonly digest: string;
  readonly files: readonly HashedFile[];
}

export interface ContentDifference {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
}

/** Nothing of it is written. @throws importRefused; packageTooLarge. */
export async function uploadedContent(archive: string, limits: PackageLimits, naan: string): Promise<UploadedContent> {
  await using opened = await openArchive(archive, limits);
  const root = packageRoot(opened);
  const files: HashedFile[] = [];
  let metadata: string | undefined;
  for await (const { path, size, content } of opened.unpack()) {
    const name = path.slice(root.length);
    const isMetadata = name === METADATA_FILE && size <= limits.metadata;
    const { sha256, text } = await hashed(content, isMetadata);
    if (isMetadata) metadata = text;
    files.push({ path: name, size, sha256 });
  }
  const id = metadata === undefined ? undefined : readMetadata(metadata, naan).metadata?.id;
  return { id, digest: packageDigest(files), files };
}

/** By path. */
export async function differencesFrom(present: KoPackage, { files }: UploadedContent): Promise<ContentDifference[]> {
  const found: ContentDifference[] = [];
  const uploaded = new Map(files.map((file) => [file.path, file]));
  for (const [path, { size }] of present.files) {
    const file = uploaded.get(path);
    if (file === undefined) found.push({ path, change: 'removed' });
    else if (file.size !== size || file.sha256 !== (await digestIn(present, path)))
      found.push({ path, change: 'changed' });
  }
  for (const path of uploaded.keys()) if (!present.files.has(path)) found.push({ path, change: 'added' });
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The package of that id, held open. */
export const presentPackage = (shelf: Shelf, id: KoId | undefined): Promise<KoPackage | undefined> =>
  id === undefined ? Promise.resolve(undefined) : shelf.open(id);

export const keyOf = (id: KoId | undefined): string | null => (id === undefined ? null : koKey(id));

async function digestIn(pkg: KoPackage, path: string): Promise<string> {
  return pkg.digestOf(path) ?? (await hashed(await pkg.stream(path), false)).sha256;
}

async function hashed(content: Readable, keepsText: boolean): Promise<{ sha256: string; text: string }> {
  const hash = createHash('sha256');
  const kept: Buffer[] = [];
  for await (const chunk of content as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (keepsText) kept.push(chunk);
  }
  return { sha256: hash.digest('hex'), text: Buffer.concat(kept).toString() };
}
