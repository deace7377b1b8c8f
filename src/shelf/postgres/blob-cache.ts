/**
 * Files of packages on the local disk, by their digest. Whatever happens to it, a read gives what was stored or nothing:
 * it may be deleted at any time, and fills again.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from '../package/package-content.ts';

export interface BlobCacheOptions {
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

export class BlobCache {
  readonly #options: BlobCacheOptions;
  /** By digest, those first that were used longest ago. */
  readonly #known = new Map<string, Known>();
  #bytes = 0;
  #scanned: Promise<void> | undefined;

  constructor(options: BlobCacheOptions) {
    this.#options = options;
  }

  /** The bytes, if they are here and whole. */
  async read(digest: string): Promise<Buffer | undefined> {
    const bytes = await readFile(this.#path(digest)).catch(() => undefined);
    if (bytes === undefined) return undefined;
    if (sha256(bytes) !== digest) return this.#drop(digest);
    this.#use(digest, bytes.length);
    return bytes;
  }

  /** The file, open, if it is here and whole. Its bytes are read once to find out, and again where it has changed. */
  async open(digest: string, size: number): Promise<FileHandle | undefined> {
    const file = await open(this.#path(digest), 'r').catch(() => undefined);
    if (file === undefined) return undefined;
    const { ino, mtimeMs, size: found } = await file.stat();
    const mark = `${String(ino)} ${String(mtimeMs)}`;
    if (found === size && this.#known.get(digest)?.mark === mark) return file;
    if (found !== size || (await digestOf(file)) !== digest) {
      await file.close();
      return this.#drop(digest);
    }
    this.#use(digest, size, mark);
    return file;
  }

  /** Never rejects: what cannot be kept is asked of the database again. */
  async keep(digest: string, bytes: Buffer): Promise<void> {
    const path = this.#path(digest);
    const temporary = `${path}.${crypto.randomUUID()}`;
    try {
      await mkdir(dirname(path), { recursive: true });
      await using file = await open(temporary, 'wx', 0o600);
      await file.writeFile(bytes);
      await rename(temporary, path);
      this.#use(digest, bytes.length);
      await this.#shrink();
    } catch {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
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

async function digestOf(file: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.alloc(1024 * 1024);
  for (let at = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}
