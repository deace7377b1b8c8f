/** Which files packages have, on the local disk, so that a package is opened without the database. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packageDigest, type HashedFile } from '../../package/package-content.ts';
import { parseFiles, renderFiles } from '../package-listing.ts';

export class PackageLists {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined unless it is here and whole. */
  async read(digest: string): Promise<readonly HashedFile[] | undefined> {
    try {
      const files = parseFiles(await readFile(this.#path(digest), 'utf8'));
      return packageDigest(files) === digest ? files : undefined;
    } catch {
      return undefined;
    }
  }

  /** Never rejects: what cannot be kept is asked of the database again. */
  async keep(digest: string, files: readonly HashedFile[]): Promise<void> {
    const path = this.#path(digest);
    const temporary = `${path}.${crypto.randomUUID()}`;
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(temporary, renderFiles(files), { mode: 0o600, flag: 'wx' });
      await rename(temporary, path);
    } catch {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }

  #path(digest: string): string {
    return join(this.#folder, digest.slice(0, 2), digest);
  }
}
