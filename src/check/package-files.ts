/** The files of a folder that belong to its package, and those that stay behind. */
import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { isPackagePath } from '../knowledge-object/package-path.ts';
import type { PackageFile } from '../shelf/shelf.ts';

export interface LeftOut {
  /** Relative to the folder; of a folder that is left out as a whole, with a slash at its end. */
  readonly path: string;
  readonly why: string;
}

export interface FolderFile extends PackageFile {
  /** The file has not changed while this is the same. */
  readonly stamp: string;
  /** When it was saved, in epoch milliseconds. */
  readonly saved: number;
}

export interface FolderListing {
  /** By path, sorted. */
  readonly files: ReadonlyMap<string, FolderFile>;
  readonly leftOut: readonly LeftOut[];
  /** All folders of the package, relative, the outermost one as ''. */
  readonly folders: readonly string[];
}

const NOT_PACKAGED: readonly [RegExp, string][] = [
  [/^\./, 'a hidden file'],
  [/^node_modules$/, 'dependencies, which the runtime installs'],
  [/^(__pycache__|.*\.py[co])$/, 'made by Python from its source'],
  [/^venv$/, 'dependencies, which the runtime installs'],
  [/^(__MACOSX|Thumbs\.db|desktop\.ini)$/, 'made by the desktop'],
  [/(~|\.swp|\.bak|\.orig)$/, 'a copy that an editor made'],
];

export interface ListingOptions {
  /** Paths that are left out too, such as the zip file that is about to be written. */
  readonly unless?: ReadonlySet<string>;
  /** Takes every file, as an import does. */
  readonly all?: boolean;
}

export async function listPackageFiles(
  root: string,
  { unless, all = false }: ListingOptions = {},
): Promise<FolderListing> {
  const files: FolderFile[] = [];
  const leftOut: LeftOut[] = [];
  const folders: string[] = [];

  async function walk(folder: string): Promise<void> {
    folders.push(folder);
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      const why = all
        ? undefined
        : unless?.has(path) === true
          ? 'a packed knowledge object'
          : reasonAgainst(entry, path);
      if (why !== undefined) leftOut.push({ path: entry.isDirectory() ? `${path}/` : path, why });
      else if (entry.isDirectory()) await walk(path);
      else {
        // An editor may take a file away while it saves it.
        const found = await lstat(join(root, path)).catch(() => undefined);
        if (found !== undefined) files.push({ path, size: found.size, stamp: stampOf(found), saved: found.mtimeMs });
      }
    }
  }

  await walk('');
  const sorted = files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return {
    files: new Map(sorted.map((file) => [file.path, file])),
    leftOut: leftOut.sort((a, b) => (a.path < b.path ? -1 : 1)),
    folders,
  };
}

/** True when a file is as it was when it was listed. */
export async function isAsListed(root: string, { path, stamp }: FolderFile): Promise<boolean> {
  const found = await lstat(join(root, path)).catch(() => undefined);
  return found !== undefined && stampOf(found) === stamp;
}

const stampOf = ({ size, mtimeMs, ctimeMs, ino }: Stats): string => `${size} ${mtimeMs} ${ctimeMs} ${ino}`;

function reasonAgainst(entry: Dirent, path: string): string | undefined {
  const [, why] = NOT_PACKAGED.find(([pattern]) => pattern.test(entry.name)) ?? [];
  if (why !== undefined) return why;
  if (!entry.isFile() && !entry.isDirectory())
    return entry.isSymbolicLink() ? 'a link: put the file itself here' : 'not a regular file';
  return isPackagePath(path) ? undefined : 'a name that a package cannot hold: rename it';
}
