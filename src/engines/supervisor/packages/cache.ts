/**
 * The cache folder. What is in it is found again by what it was made from, and is put in its place by one rename,
 * so that neither a crash nor a second runtime on the same folder leaves half of it.
 *
 *     objects/<key>/package/…     artifacts of one state of a knowledge object version
 *     objects/<key>/digests/…     of each artifact, by which one that was damaged is known
 *     objects/<key>/node_modules  link to the packages it depends on
 *     objects/<key>/package.json  where Node ends its search for the kind of a module
 *     installs/<key>/…            one installation of packages
 *     endpoints/<key>             the object that an endpoint had last
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  access,
  lstat,
  mkdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { removeTree } from '../scratch-folders.ts';
import { codeOf } from './errors.ts';

export const digestOf = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex').slice(0, 40);
};

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Says neither CommonJS nor ES modules: Node looks at the file itself. */
const NO_KIND = '{}';

export class Cache {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** @throws the system's error where the folder cannot be written. */
  static async open(folder: string): Promise<Cache> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Node names the files of code by their real paths.
    const cache = new Cache(await realpath(folder));
    for (const name of ['staging', 'objects', 'installs', 'endpoints']) await cache.#makeFolder(join(folder, name));
    return cache;
  }

  object(key: string): string {
    return join(this.folder, 'objects', key);
  }

  install(key: string): string {
    return join(this.folder, 'installs', key);
  }

  /** Marks it as used; see `cache-limits.ts`. Nothing where it is not there. */
  async use(path: string): Promise<void> {
    const now = new Date();
    await utimes(path, now, now).catch(() => undefined);
  }

  /** A new folder to prepare something in; removed with what is left in it. */
  async stage<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const folder = join(this.folder, 'staging', randomUUID());
    await mkdir(folder);
    try {
      return await work(folder);
    } finally {
      await removeTree(folder);
    }
  }

  /** Moves a file or folder to its place. What is there instead goes, and so does what is no folder on the way there. */
  async place(from: string, to: string): Promise<void> {
    await this.#makeFolder(dirname(to));
    for (;;) {
      try {
        return await rename(from, to);
      } catch (error) {
        if (!['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error;
        await this.discard(to);
      }
    }
  }

  /** Takes something out of its place at once, and then away. */
  async discard(path: string): Promise<void> {
    await this.stage((folder) =>
      rename(path, join(folder, 'old')).catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
      }),
    );
  }

  async #makeFolder(folder: string): Promise<void> {
    for (let at = folder; at.length > this.folder.length; at = dirname(at)) {
      const found = await lstat(at).catch(() => undefined);
      if (found && !found.isDirectory()) await rm(at, { force: true });
    }
    await mkdir(folder, { recursive: true });
  }

  /** Makes the packages of an installation the ones that the object finds. */
  async link(objectKey: string, installKey: string): Promise<void> {
    const link = join(this.object(objectKey), 'node_modules');
    const target = join('..', '..', 'installs', installKey, 'node_modules');
    if ((await readlink(link).catch(() => undefined)) === target) return;
    await this.stage(async (folder) => {
      await symlink(target, join(folder, 'link'));
      await this.place(join(folder, 'link'), link);
    });
  }

  /** Keeps the folders above the object from deciding how Node reads its files. */
  async endScope(objectKey: string): Promise<void> {
    const file = join(this.object(objectKey), 'package.json');
    const isThere = (await lstat(file).catch(() => undefined))?.isFile() === true;
    if (isThere && (await readFile(file, 'utf8')) === NO_KIND) return;
    await this.stage(async (folder) => {
      await writeFile(join(folder, 'scope'), NO_KIND, { flush: true });
      await this.place(join(folder, 'scope'), file);
    });
  }

  /** The object that the endpoint had when it was last activated. */
  async remembered(uri: string): Promise<string | undefined> {
    const key = await readFile(this.#pointer(uri), 'utf8').catch(() => '');
    return /^[0-9a-f]{40}$/.test(key) ? key : undefined;
  }

  async remember(uri: string, objectKey: string): Promise<void> {
    await this.stage(async (folder) => {
      await writeFile(join(folder, 'pointer'), objectKey, { flush: true });
      await this.place(join(folder, 'pointer'), this.#pointer(uri));
    });
  }

  #pointer(uri: string): string {
    return join(this.folder, 'endpoints', digestOf(uri));
  }
}
