/** The knowledge objects in a folder, as they are at one moment. */
import { join, posix } from 'node:path';
import { METADATA_FILE } from '../../src/knowledge-object/metadata.ts';
import { folderSource } from '../../src/check/ko-source.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import { listPackageFiles } from '../../src/check/package-files.ts';
import type { FolderListing } from '../../src/check/package-files.ts';

/** "A folder of any name, up to three levels deep, with a `metadata.json`." */
const MAX_DEPTH = 3;

export interface PlayedFolders {
  /** By their place below the folder; '' where the folder itself is one. */
  readonly sources: ReadonlyMap<string, KoSource>;
  /** All folders to watch, relative. */
  readonly folders: readonly string[];
}

export async function findPlayed(root: string): Promise<PlayedFolders> {
  const listing = await listPackageFiles(root);
  const sources = new Map(packageFoldersIn(listing).map((folder) => [folder, sourceIn(root, folder, listing)]));
  return { sources, folders: listing.folders };
}

function packageFoldersIn({ files }: FolderListing): string[] {
  if (files.has(METADATA_FILE)) return [''];
  const folders: string[] = [];
  for (const path of files.keys()) {
    const folder = posix.dirname(path);
    const isPackageFolder = posix.basename(path) === METADATA_FILE && folder.split('/').length <= MAX_DEPTH;
    // A knowledge object may have files of that name below it.
    if (isPackageFolder && !folders.some((other) => folder.startsWith(`${other}/`))) folders.push(folder);
  }
  return folders.filter((folder) => !folders.some((other) => folder !== other && folder.startsWith(`${other}/`)));
}

function sourceIn(root: string, folder: string, { files, leftOut }: FolderListing): KoSource {
  if (folder === '') return folderSource(root, { files, leftOut });
  const below = <T extends { readonly path: string }>(all: Iterable<T>): T[] =>
    [...all]
      .filter(({ path }) => path.startsWith(`${folder}/`))
      .map((each) => ({ ...each, path: each.path.slice(folder.length + 1) }));
  return folderSource(join(root, folder), {
    files: new Map(below(files.values()).map((file) => [file.path, file])),
    leftOut: below(leftOut),
  });
}

/** The same as long as no file changed. */
export const stampOf = ({ files }: KoSource): string =>
  [...files.values()].map(({ path, stamp }) => `${path} ${stamp}`).join('\n');
