/** What is checked: a folder or an archive with a knowledge object. */
import { createWriteStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join, posix, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { METADATA_FILE } from '../knowledge-object/metadata.ts';
import { importRefused, messageOf, ServiceError } from '../lib/errors.ts';
import { escapeForMessage, withoutEndSlashes } from '../lib/text.ts';
import { type Archive, DEFAULT_PACKAGE_LIMITS } from '../shelf/archive/archive.ts';
import { openArchive } from '../shelf/archive/open-archive.ts';
import { packageRoot } from '../shelf/import/import-zip.ts';
import { Unavailable } from './findings.ts';
import { type FolderFile, type FolderListing, type LeftOut, listPackageFiles } from './package-files.ts';
import { temporaryFolder } from './temporary-folder.ts';

export interface KoSource extends AsyncDisposable {
  /** The location as it was given. */
  readonly path: string;
  /** The same for messages; places in it are `<label>/<path>:<line>`. */
  readonly label: string;
  readonly isArchive: boolean;
  /** Where its files lie: the person's own folder, or where an archive was unpacked. */
  readonly folder: string;
  readonly files: ReadonlyMap<string, FolderFile>;
  readonly leftOut: readonly LeftOut[];
  /** Why an archive cannot be read at all. */
  readonly damage?: string;
}

/** @throws Unavailable. */
export async function openFolder(path: string, unless?: ReadonlySet<string>): Promise<KoSource> {
  const label = tidyLabel(path);
  try {
    return folderSource(path, await listPackageFiles(path, unless === undefined ? {} : { unless }));
  } catch (thrown) {
    throw new Unavailable(`${label} cannot be read: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** A folder whose files are known. */
export const folderSource = (path: string, { files, leftOut }: Pick<FolderListing, 'files' | 'leftOut'>): KoSource => ({
  path,
  label: tidyLabel(path),
  isArchive: false,
  folder: path,
  files,
  leftOut,
  [Symbol.asyncDispose]: () => Promise.resolve(),
});

/** Unpacks it under the rules of an import. */
export async function openArchiveFile(path: string, label = tidyLabel(path)): Promise<KoSource> {
  const target = await temporaryFolder();
  const source = { path, label, isArchive: true, folder: target.path, leftOut: [] };
  const dispose = { [Symbol.asyncDispose]: () => target[Symbol.asyncDispose]() };
  try {
    await unpack(path, target.path);
    return { ...source, files: (await listPackageFiles(target.path, { all: true })).files, ...dispose };
  } catch (thrown) {
    if (thrown instanceof ServiceError) return { ...source, files: new Map(), damage: thrown.message, ...dispose };
    await target[Symbol.asyncDispose]();
    throw new Unavailable(`${label} cannot be read: ${messageOf(thrown)}`, { cause: thrown });
  }
}

async function unpack(path: string, target: string): Promise<void> {
  await using archive = await openArchive(path, DEFAULT_PACKAGE_LIMITS);
  const root = rootOf(archive);
  for await (const entry of archive.unpack()) {
    const file = join(target, entry.path.slice(root.length));
    await mkdir(dirname(file), { recursive: true });
    await pipeline(entry.content, createWriteStream(file, { flags: 'wx' }));
  }
}

/** @throws importRefused, which names all where the zip holds several. */
function rootOf(archive: Archive): string {
  try {
    return packageRoot(archive);
  } catch (thrown) {
    const several = archive.entries.filter(({ path }) => posix.basename(path) === METADATA_FILE);
    if (several.length < 2) throw thrown;
    const folders = several.map(({ path }) => escapeForMessage(`${posix.dirname(path)}/`)).join(', ');
    throw importRefused(
      `The ${archive.kind} file holds several knowledge objects: ${folders}: make a ${archive.kind} of each`,
    );
  }
}

export const readSource = (source: KoSource, path: string): Promise<Buffer> => readFile(join(source.folder, path));

/** Short and without a slash at its end. */
const tidyLabel = (path: string): string => {
  const short = withoutEndSlashes(path) || path;
  return short.startsWith('./') ? relative('.', short) || '.' : short;
};

/** `<label>/<path>`, or the path alone in the current folder. */
export const placeIn = ({ label }: Pick<KoSource, 'label'>, path: string, line?: number): string =>
  [join(label, path), ...(line === undefined ? [] : [line])].join(':');
