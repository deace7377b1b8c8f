/**
 * Files of packages on the local disk, by their digest. Whatever happens to it, a read gives what was stored or nothing:
 * it may be deleted at any time, and fills again.
 */
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hashFile, packageDigest, type HashedFile } from '../../package/package-content.ts';
import { parseFiles, renderFiles } from '../package-listing.ts';

export interface ObjectCacheOptions {
  readonly folder: string;
  /** Bytes; where there are more, those that were used longest ago go. */
  readonly limit: number;
}

interface Known {
  readonly size: number;
  /** Of the file, when its bytes were last found to be whole. */
  mark: string | undefined;
}

const NAME = /^[0-9a-f]{64}$/;

export class ObjectCache {
  readonly #options: ObjectCacheOptions;
  /** By digest, those first that were used longest ago. */
  readonly #known = new Map<string, Known>();
  #bytes = 0;
  #scanned: Promise<void> | undefined;

  constructor(options: ObjectCacheOptions) {
    this.#options = options;
  }

  /** Whether it seems to be here. */
  async has(digest: string): Promise<boolean> {
    return this.#known.has(digest) || (await stat(this.#path(digest)).catch(() => undefined)) !== undefined;
  }

  /** The path of the file, if it is here and whole. Its bytes are read once to find out, and again where it has changed. */
  async find(digest: string, size: number): Promise<string | undefined> {
    const path = this.#path(digest);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) return undefined;
    const mark = `${String(found.ino)} ${String(found.mtimeMs)}`;
    if (found.size === size && this.#known.get(digest)?.mark === mark) return path;
    if (found.size !== size || (await hashFile(path, size).catch(() => '')) !== digest) return this.#drop(digest);
    this.#use(digest, size, mark);
    return path;
  }

  /** Never rejects: what cannot be kept is asked of the database again. */
  async keep(digest: string, bytes: Buffer): Promise<void> {
    if (!(await writeWhole(this.#path(digest), bytes))) return;
    this.#use(digest, bytes.length, undefined);
    await this.#shrink().catch(() => undefined);
  }

  #path(digest: string): string {
    return join(this.#options.folder, digest.slice(0, 2), digest);
  }

  async #drop(digest: string): Promise<undefined> {
    await rm(this.#path(digest), { force: true }).catch(() => undefined);
    this.#bytes -= this.#known.get(digest)?.size ?? 0;
    this.#known.delete(digest);
  }

  #use(digest: string, size: number, mark?: string): void {
    const before = this.#known.get(digest);
    this.#known.delete(digest);
    this.#known.set(digest, { size, mark: mark ?? before?.mark });
    this.#bytes += size - (before?.size ?? 0);
    if (before !== undefined) return;
    // For the order after the next start.
    const now = new Date();
    void utimes(this.#path(digest), now, now).catch(() => undefined);
  }

  async #shrink(): Promise<void> {
    await (this.#scanned ??= this.#scan());
    for (const digest of this.#known.keys()) {
      if (this.#bytes <= this.#options.limit) return;
      await this.#drop(digest);
    }
  }

  /** What is here from earlier starts counts too. */
  async #scan(): Promise<void> {
    const { folder } = this.#options;
    const found: { digest: string; size: number; used: number }[] = [];
    for (const part of await readdir(folder).catch(() => []))
      for (const digest of await readdir(join(folder, part)).catch(() => [])) {
        if (!NAME.test(digest)) {
          await rm(join(folder, part, digest), { force: true }).catch(() => undefined);
          continue;
        }
        const { size, mtimeMs } = (await stat(join(folder, part, digest)).catch(() => undefined)) ?? {};
        if (size !== undefined && mtimeMs !== undefined) found.push({ digest, size, used: mtimeMs });
      }
    const used = [...this.#known];
    this.#known.clear();
    this.#bytes = 0;
    const known = new Set(used.map(([digest]) => digest));
    for (const { digest, size } of found.sort((a, b) => a.used - b.used))
      if (!known.has(digest)) this.#known.set(digest, { size, mark: undefined });
    for (const [digest, each] of used) this.#known.set(digest, each);
    for (const { size } of this.#known.values()) this.#bytes += size;
  }
}

/** Which files packages have, on the local disk, so that a package is opened without the database. */
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
    await writeWhole(this.#path(digest), renderFiles(files));
  }

  #path(digest: string): string {
    return join(this.#folder, digest.slice(0, 2), digest);
  }
}

/** @returns whether it is there now. Never rejects. */
async function writeWhole(path: string, content: string | Buffer): Promise<boolean> {
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, content, { mode: 0o600, flag: 'wx' });
    await rename(temporary, path);
    return true;
  } catch {
    await rm(temporary, { force: true }).catch(() => undefined);
    return false;
  }
}
