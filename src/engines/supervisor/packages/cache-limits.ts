/**
 * Keeps the cache folder from growing for ever: what was not used for long goes, and beyond a size what was used least
 * recently. What an active endpoint needs stays, in this runtime and in others on the same folder, since each marks
 * what it uses from time to time.
 */
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cache } from './cache.ts';

export interface CacheLimits {
  readonly bytes: number;
  readonly ageMs: number;
}

/** What was used this recently is never removed: another runtime may be using it. */
export const recentMs = 60 * 60_000;
const firstLookMs = 60_000;
const betweenLooksMs = recentMs / 3;
/** An activation in another runtime, or one that was interrupted, prepares something there. */
const stagingMs = 24 * 60 * 60_000;

interface Entry {
  readonly path: string;
  readonly usedAt: number;
  readonly bytes: number;
}

export class CacheLimiter {
  readonly #cache: Cache;
  readonly #limits: CacheLimits;
  readonly #inUse: () => Iterable<string>;
  /** Measured once for each state of a folder: installations have thousands of files. */
  readonly #sizes = new Map<string, { readonly changed: number; readonly bytes: number }>();
  #timer: NodeJS.Timeout | undefined;

  /** @param inUse folders of the cache that this runtime needs. */
  constructor(cache: Cache, limits: CacheLimits, inUse: () => Iterable<string>) {
    this.#cache = cache;
    this.#limits = limits;
    this.#inUse = inUse;
  }

  /** @param failed is told why the cache could not be looked through. */
  start(failed: (error: unknown) => void): void {
    const look = (after: number): void => {
      this.#timer = setTimeout(() => {
        this.shrink()
          .catch(failed)
          .finally(() => this.#timer && look(betweenLooksMs));
      }, after).unref();
    };
    look(firstLookMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** @param now milliseconds since 1970. */
  async shrink(now = Date.now()): Promise<void> {
    const inUse = new Set(this.#inUse());
    for (const path of inUse) await this.#cache.use(path);
    await this.#removeLeftOvers(now);

    const entries = (await this.#entries()).sort((one, other) => one.usedAt - other.usedAt);
    let total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { path, usedAt, bytes } of entries) {
      const beyond = total > this.#limits.bytes || usedAt < now - this.#limits.ageMs;
      // Looked at again, since an activation may have begun to use it.
      const isFree = (): boolean => !inUse.has(path) && !new Set(this.#inUse()).has(path);
      if (!beyond || !isFree() || (await usedAtOf(path)) > now - recentMs || !isFree()) continue;
      await this.#cache.discard(path);
      this.#sizes.delete(path);
      total -= bytes;
    }
  }

  async #entries(): Promise<Entry[]> {
    const { folder } = this.#cache;
    const groups = [join(folder, 'objects'), join(folder, 'installs')].map(pathsIn);
    // Programs of other versions of the runtime, and what the installer keeps of packages.
    const others = (await pathsIn(folder)).filter((path) => /\/(program-\w+|npm)$/.test(path));
    const paths = [...(await Promise.all(groups)).flat(), ...others];
    const entries: Entry[] = [];
    for (const path of paths) {
      const usedAt = await usedAtOf(path);
      if (usedAt > 0) entries.push({ path, usedAt, bytes: await this.#sizeOf(path, usedAt) });
    }
    return entries;
  }

  async #sizeOf(path: string, changed: number): Promise<number> {
    const known = this.#sizes.get(path);
    const bytes = known?.changed === changed ? known.bytes : await measure(path);
    this.#sizes.set(path, { changed, bytes });
    return bytes;
  }

  /** What was never finished, and endpoints whose object is gone. */
  async #removeLeftOvers(now: number): Promise<void> {
    const { folder } = this.#cache;
    for (const path of await pathsIn(join(folder, 'staging'))) {
      const usedAt = await usedAtOf(path);
      if (usedAt > 0 && usedAt < now - stagingMs) await this.#cache.discard(path);
    }
    for (const path of await pathsIn(join(folder, 'endpoints'))) {
      const object = this.#cache.object(await readFile(path, 'utf8').catch(() => ''));
      if ((await usedAtOf(path)) < now - recentMs && (await usedAtOf(object)) === 0) await this.#cache.discard(path);
    }
  }
}

const pathsIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).map((name) => join(folder, name));

/** 0 where it is gone. */
const usedAtOf = (path: string): Promise<number> =>
  lstat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

async function measure(path: string): Promise<number> {
  let bytes = 0;
  const folders = [path];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const child = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(child);
      else bytes += (await lstat(child).catch(() => undefined))?.size ?? 0;
    }
  }
  return bytes;
}
