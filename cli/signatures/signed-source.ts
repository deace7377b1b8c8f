/** A package whose signature is asked for: its listing, and the bundles that come with it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hashFile } from '../../src/shelf/package/hash-file.ts';
import type { NamedBundle } from '../../src/shelf/package/signatures/verdict.ts';
import { isBundlePath, listingOf, type Listing } from '../../src/shelf/package/signatures/subject.ts';
import { withoutEndSlashes } from '../../src/lib/text.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import { readBundleFile } from './files.ts';

export interface SignaturePlaces {
  readonly package: string;
  readonly examples: string;
  readonly listing: string;
}

/** In a folder bundles are at its root, where they go with the package; the bytes of a zip stay as they are. */
export function placesOf({ path, isArchive }: KoSource): SignaturePlaces {
  const base = withoutEndSlashes(path);
  return {
    package: isArchive ? `${base}.sigstore.json` : join(path, 'package.sigstore.json'),
    examples: isArchive ? `${base}.examples.sigstore.json` : join(path, 'examples.sigstore.json'),
    // Inside the folder it would be part of what it lists.
    listing: `${base}.sha256sums`,
  };
}

export async function listSource(source: KoSource): Promise<Listing> {
  const files = [];
  for (const { path, size } of source.files.values())
    if (!isBundlePath(path)) files.push({ path, size, sha256: await hashFile(join(source.folder, path), size) });
  return listingOf(files);
}

export async function bundlesOf(source: KoSource): Promise<NamedBundle[]> {
  const inside = [...source.files.keys()].filter(isBundlePath).map((path) => join(source.folder, path));
  const { package: own, examples } = placesOf(source);
  const beside = source.isArchive ? [own, examples].filter((path) => existsSync(path)) : [];
  const bundles = [];
  for (const path of [...beside, ...inside]) {
    const name = path.startsWith(source.folder) ? path.slice(source.folder.length).replace(/^\//, '') : path;
    bundles.push({ name, bytes: await readBundleFile(path) });
  }
  return bundles;
}
