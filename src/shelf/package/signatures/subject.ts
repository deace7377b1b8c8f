/** What a signature of a package is about. */
import { linesOf, sha256, sortedByBytes, type HashedFile } from '../package-content.ts';

/** At the root of a package: bundles are no part of what they sign. */
export const isBundlePath = (path: string): boolean => /^[^/]+\.sigstore\.json$/.test(path);

export interface Listing {
  /** What `sha256sum` prints for the files in order of path. */
  readonly text: string;
  /** Lower-case hex: the package digest without its bundles. */
  readonly sha256: string;
}

/** Returns the listing that is signed. Anybody can compute it with `sha256sum`, and verify it as a file. */
export function listingOf(files: Iterable<HashedFile>): Listing {
  const text = linesOf(sortedByBytes([...files].filter(({ path }) => !isBundlePath(path))));
  return { text, sha256: sha256(text) };
}
