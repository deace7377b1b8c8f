/** Copies of knowledge objects on a shelf, so that the author's own folder is only read. */
import { copyFile, constants, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FolderFile } from './package-files.ts';

/** Makes a folder hold these files, and copies only those that changed since. */
export class Mirror {
  readonly folder: string;
  /** By path, the stamp of what was copied. */
  #copied: ReadonlyMap<string, string> = new Map();

  constructor(folder: string) {
    this.folder = folder;
  }

  async update(from: string, files: ReadonlyMap<string, FolderFile>): Promise<void> {
    const copied = new Map<string, string>();
    for (const path of this.#copied.keys()) if (!files.has(path)) await rm(join(this.folder, path), { force: true });
    for (const { path, stamp } of files.values()) {
      if (this.#copied.get(path) !== stamp) {
        const target = join(this.folder, path);
        await mkdir(dirname(target), { recursive: true });
        await copyFile(join(from, path), target, constants.COPYFILE_FICLONE);
      }
      copied.set(path, stamp);
    }
    this.#copied = copied;
  }

  async remove(): Promise<void> {
    this.#copied = new Map();
    await rm(this.folder, { recursive: true, force: true });
  }
}
