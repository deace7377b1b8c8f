import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { preconditionFailed } from '../../lib/errors.ts';
import type { KoPackage, ShelfEntry, Staging } from '../shelf.ts';

/** Copies a package, with other metadata where they are given. */
export async function copyFiles(from: KoPackage, to: Staging, metadata = from.entry.metadata): Promise<void> {
  for (const path of from.files.keys())
    await to.write(path, path === METADATA_FILE ? Buffer.from(metadata) : await from.stream(path));
}

/** @throws preconditionFailed unless the KO has one of these entity tags. */
export function requireMatch(entry: ShelfEntry | undefined, ifMatch: readonly string[] | undefined): void {
  if (ifMatch === undefined || (entry !== undefined && ifMatch.some((tag) => tag === entry.etag || tag === '*')))
    return;
  throw preconditionFailed('The knowledge object has changed meanwhile: its entity tag is not one of If-Match.');
}
