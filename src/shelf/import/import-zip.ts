import type { Readable } from 'node:stream';
import type { DescriptorReader } from '../../knowledge-object/descriptors/descriptor-reader.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { importRefused } from '../../lib/errors.ts';
import type { Shelf, ShelfEntry } from '../shelf.ts';
import type { Archive } from '../archive/archive.ts';
import { openArchive } from '../archive/open-archive.ts';
import { checkPackage } from './check-package.ts';
import type { PackageLimits } from './limits.ts';
import { spool } from './spool.ts';

/** Where packages are taken in, and by which rules. */
export interface ImportTarget {
  readonly shelf: Shelf;
  /** Folder in which an archive lies while it is unpacked. */
  readonly spool: string;
  readonly limits: PackageLimits;
  readonly descriptors?: DescriptorReader | undefined;
  /** Hears how each import ended, as `outcomeOf` says it, or `done`; whoever imports tells it. */
  readonly observe?: ((outcome: string) => void) | undefined;
}

/** What was taken in. */
export interface Imported {
  readonly entry: ShelfEntry;
  /** `sha256:<old>, sha256:<new>`, where the content of a version that was there is now another. */
  readonly digests: string | undefined;
}

/**
 * Takes a packed KO onto the shelf, in place of the one of the same id. Whatever fails leaves the shelf as it was.
 * @throws importRefused with the reason and the file; packageTooLarge; what the shelf throws when it cannot store.
 */
export async function importZip(content: Readable, options: ImportTarget): Promise<Imported> {
  const { shelf, limits, descriptors } = options;
  await using staging = await shelf.stage();
  await using file = await spool(options.spool, content, limits.zipped);
  await using archive = await openArchive(file.path, limits);
  const root = packageRoot(archive);
  for await (const { path, content: file } of archive.unpack()) await staging.write(path.slice(root.length), file);
  const { metadata } = await checkPackage((path) => staging.read(path), staging.files, limits, {
    descriptors,
    defaultNaan: shelf.defaultNaan,
  });
  const entry = await staging.commit(metadata.id);
  return { entry, digests: staging.replaced && `sha256:${staging.replaced}, sha256:${entry.digest}` };
}

/** "The zip holds `metadata.json` at its root or in its single top folder": what stands before every path. */
export function packageRoot({ entries, kind }: Pick<Archive, 'entries' | 'kind'>): string {
  const paths = new Set(entries.map(({ path }) => path));
  if (paths.has(METADATA_FILE)) return '';
  const [top = ''] = /^[^/]+\//.exec(entries[0]?.path ?? '') ?? [];
  if (top !== '' && paths.has(top + METADATA_FILE) && entries.every(({ path }) => path.startsWith(top))) return top;
  const elsewhere = entries.find(({ path }) => path.endsWith(`/${METADATA_FILE}`));
  throw importRefused(
    elsewhere === undefined
      ? `The ${kind} file has no ${METADATA_FILE}: a package needs one at its root or in its single top folder`
      : `The ${kind} file has its ${METADATA_FILE} at ${escapeForMessage(elsewhere.path)}: it must be at the root or in the single top folder of the ${kind}`,
  );
}
