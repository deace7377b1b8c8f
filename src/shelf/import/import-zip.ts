import { lstat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { DescriptorReader } from '../../knowledge-object/descriptors/background-reader.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { importRefused, packageTooLarge } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { type Archive, bytes, type PackageLimits } from '../archive/archive.ts';
import { openArchive } from '../archive/open-archive.ts';
import type { ChangeAuthor } from '../change-author.ts';
import type { Shelf, ShelfEntry, Staging } from '../shelf.ts';
import { checkPackage } from './check-package.ts';
import { spool } from './spool.ts';

/** By which rules packages are taken in. */
export interface ImportRules {
  readonly limits: PackageLimits;
  readonly descriptors?: DescriptorReader | undefined;
  /** Hears how each import ended, as `outcomeOf` says it, or `done`; whoever imports tells it. */
  readonly observe?: ((outcome: string) => void) | undefined;
}

/** Where packages are taken in, and by which rules. */
export interface ImportTarget extends ImportRules {
  readonly shelf: Shelf;
  /** Folder in which an archive lies while it is unpacked. */
  readonly spool: string;
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
export async function importZip(content: Readable, target: ImportTarget, author?: ChangeAuthor): Promise<Imported> {
  await using staging = await target.shelf.stage(author);
  await using file = await spool(target.spool, content, target.limits.zipped);
  return await unpackInto(staging, file.path, target.shelf, target, author);
}

/** Does the same for an archive that lies on this machine. @throws as `importZip`. */
export async function importArchive(
  file: string,
  shelf: Shelf,
  rules: ImportRules,
  author?: ChangeAuthor,
): Promise<Imported> {
  const { zipped } = rules.limits;
  if ((await lstat(file)).size > zipped)
    throw packageTooLarge(`The package is larger than the limit of ${bytes(zipped)}.`);
  await using staging = await shelf.stage(author);
  return await unpackInto(staging, file, shelf, rules, author);
}

async function unpackInto(
  staging: Staging,
  file: string,
  { defaultNaan }: Shelf,
  { limits, descriptors }: ImportRules,
  author: ChangeAuthor | undefined,
): Promise<Imported> {
  await using archive = await openArchive(file, limits);
  const root = packageRoot(archive);
  for await (const { path, content } of archive.unpack()) await staging.write(path.slice(root.length), content);
  const read = (path: string): Promise<Buffer> => staging.read(path);
  const { metadata } = await checkPackage(read, staging.files, limits, { descriptors, defaultNaan });
  author?.requireMayChange(metadata.id);
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
