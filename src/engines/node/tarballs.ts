/**
 * The archives of packages that npm has fetched, by the digests that it has verified: they are taken from its cache, and
 * given to the npm of another node in the same way, with a lock file that names them.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readRegular } from '../../shelf/package/package-content.ts';
import { MOST_SHARED_BYTES, type Fetched } from '../supervisor/packages/shared-fetches.ts';

interface LockedPackage {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
}

const SHA512 = /(?:^|\s)sha512-([A-Za-z0-9+/]{86}==)/;
const HEX = /^[0-9a-f]{128}$/;
/** Where the cache of npm has contents, by their digests; npm compares each with its digest when it reads it. */
const CONTENTS = '_cacache/content-v2/sha512';

const placeOf = (cache: string, digest: string): string =>
  join(cache, CONTENTS, digest.slice(0, 2), digest.slice(2, 4), digest.slice(4));

/**
 * @param installed the lock file that npm writes into `node_modules`. @param manifest the `package.json` it began with.
 * @param folder an empty one, for copies. @returns undefined where something is of no registry, or there is too much.
 */
export async function tarballsOf(
  { installed, manifest, cache }: { readonly installed: string; readonly manifest: string; readonly cache: string },
  folder: string,
): Promise<Fetched | undefined> {
  const lock = JSON.parse(installed) as { packages?: Record<string, LockedPackage> };
  const digests = new Set<string>();
  for (const { resolved, integrity, link, inBundle } of Object.values(lock.packages ?? {})) {
    if (inBundle === true) continue;
    const [, base64] = SHA512.exec(integrity ?? '') ?? [];
    if (link === true || base64 === undefined || !/^https?:/.test(resolved ?? '')) return undefined;
    digests.add(Buffer.from(base64, 'base64').toString('hex'));
  }
  const files: { name: string; path: string }[] = [];
  let total = 0;
  for (const name of digests) {
    const bytes = await readRegular(placeOf(cache, name), MOST_SHARED_BYTES - total).catch(() => undefined);
    if (bytes === undefined || createHash('sha512').update(bytes).digest('hex') !== name) return undefined;
    total += bytes.length;
    if (total > MOST_SHARED_BYTES) return undefined;
    files.push({ name, path: join(folder, name) });
    await writeFile(join(folder, name), bytes);
  }
  const packages = { '': JSON.parse(manifest) as object, ...lock.packages };
  return { note: JSON.stringify({ ...lock, packages }), files };
}

/** Puts the archives in the folder where npm finds them. */
export async function giveTarballs(folder: string, cache: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!HEX.test(name)) continue;
    const place = placeOf(cache, name);
    await mkdir(dirname(place), { recursive: true });
    const temporary = `${place}.${crypto.randomUUID()}`;
    await writeFile(temporary, await readFile(join(folder, name)));
    await rename(temporary, place);
  }
}
