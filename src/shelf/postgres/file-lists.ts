/** Which files packages have, on the local disk, so that an open package asks nothing of the database. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packageDigest, sha256, type HashedFile } from '../package/package-content.ts';

export class FileLists {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined unless it is here and whole. */
  async read(digest: string): Promise<readonly HashedFile[] | undefined> {
    const text = await readFile(this.#path(digest), 'utf8').catch(() => '');
    const end = text.indexOf('\n');
    const body = text.slice(end + 1);
    if (end < 0 || text.slice(0, end) !== sha256(body)) return undefined;
    const files = (JSON.parse(body) as [string, number, string][]).map(([path, size, sha256]) => ({
      path,
      size,
      sha256,
    }));
    return packageDigest(files) === digest ? files : undefined;
  }

  /** Never rejects. */
  async keep(digest: string, files: readonly HashedFile[]): Promise<void> {
    const path = this.#path(digest);
    const temporary = `${path}.${crypto.randomUUID()}`;
    const body = JSON.stringify(files.map(({ path, size, sha256 }) => [path, size, sha256]));
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(temporary, `${sha256(body)}\n${body}`, { mode: 0o600, flag: 'wx' });
      await rename(temporary, path);
    } catch {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }

  #path(digest: string): string {
    return join(this.#folder, digest.slice(0, 2), digest);
  }
}
