/** The knowledge objects in a folder, as they are at one moment. */
import { join, posix } from 'node:path';
import { METADATA_FILE } from '../../src/knowledge-object/metadata.ts';
import { folderSource } from './ko-source.ts';
import type { KoSource } from './ko-source.ts';
import { listPackageFiles } from './package-files.ts';
import type { FolderListing } from './package-files.ts';

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
  const sources = new Map(homesIn(listing).map((home) => [home, sourceIn(root, home, listing)]));
  return { sources, folders: listing.folders };
}

function homesIn({ files }: FolderListing): string[] {
  if (files.has(METADATA_FILE)) return [''];
  const homes: string[] = [];
  for (const path of files.keys()) {
    const home = posix.dirname(path);
    const isHome = posix.basename(path) === METADATA_FILE && home.split('/').length <= MAX_DEPTH;
    // A knowledge object may have files of that name below it.
    if (isHome && !homes.some((other) => home.startsWith(`${other}/`))) homes.push(home);
  }
  return homes.filter((home) => !homes.some((other) => home !== other && home.startsWith(`${other}/`)));
}

function sourceIn(root: string, home: string, { files, leftOut }: FolderListing): KoSource {
  if (home === '') return folderSource(root, { files, leftOut });
  const below = <T extends { readonly path: string }>(all: Iterable<T>): T[] =>
    [...all]
      .filter(({ path }) => path.startsWith(`${home}/`))
      .map((each) => ({ ...each, path: each.path.slice(home.length + 1) }));
  return folderSource(join(root, home), {
    files: new Map(below(files.values()).map((file) => [file.path, file])),
    leftOut: below(leftOut),
  });
}

/** The same as long as no file changed. */
export const stampOf = ({ files }: KoSource): string =>
  [...files.values()].map(({ path, stamp }) => `${path} ${stamp}`).join('\n');
