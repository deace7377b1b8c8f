/** Brings the artifacts of an endpoint into the cache folder, where they are not there yet. */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ActivationFailure } from '../../engine.ts';
import { digestOf } from './cache.ts';
import type { Cache } from './cache.ts';
import { activationFailed, codeOf, megabytes } from './errors.ts';
import { FairQueue } from '../../../lib/fair-queue.ts';

const limits = { totalBytes: 300_000_000, atOnce: 4 } as const;

/** What an endpoint is made of. */
export interface WantedArtifacts {
  readonly uri: string;
  /** `<naan>/<name>/<version>` of the knowledge object. */
  readonly ko: string;
  /** Changes with any file of the package; where it is not known, the artifacts are read each time. */
  readonly checksum: string | undefined;
  readonly artifacts: readonly string[];
  /** What else tells two states apart. */
  readonly variant: string;
  read(path: string): Promise<Buffer>;
}

export class Artifacts {
  readonly #cache: Cache;
  readonly #loadFromCache: boolean;

  /** `loadFromCache`: use what an endpoint had last, whatever its checksum is now. */
  constructor(cache: Cache, loadFromCache = false) {
    this.#cache = cache;
    this.#loadFromCache = loadFromCache;
  }

  /** Gives the key of the object that holds them. @throws ActivationFailure where one cannot be had. */
  async provide(wanted: WantedArtifacts): Promise<string> {
    const { ko, checksum, artifacts, variant } = wanted;
    const last = this.#loadFromCache ? await this.#cache.remembered(wanted.uri) : undefined;
    if (last) await this.#cache.use(this.#cache.object(last));
    if (last && (await this.#missing(last, artifacts)).length === 0) return last;

    const known = checksum === undefined ? undefined : digestOf(ko, checksum, variant);
    if (known) await this.#cache.use(this.#cache.object(known));
    const missing = known ? await this.#missing(known, artifacts) : artifacts;
    if (known && missing.length === 0) return known;
    return this.#cache.stage(async (folder) => {
      const digest = await fetchAll(wanted, missing, folder);
      const key = known ?? digestOf(ko, digest, variant);
      for (const path of known ? missing : await this.#missing(key, artifacts)) {
        await this.#store(key, path, folder).catch((error: unknown) => {
          throw failure(path, error);
        });
      }
      return key;
    });
  }

  #file(key: string, path: string): string {
    return join(this.#cache.object(key), 'package', path);
  }

  #digest(key: string, path: string): string {
    return join(this.#cache.object(key), 'digests', digestOf(path));
  }

  async #store(key: string, path: string, folder: string): Promise<void> {
    const file = join(folder, path);
    const digest = join(folder, `${randomUUID()}.digest`);
    await writeFile(digest, digestOf(await readFile(file)), { flush: true });
    await this.#cache.place(file, this.#file(key, path));
    await this.#cache.place(digest, this.#digest(key, path));
  }

  /** Those that are not there as they were fetched. */
  async #missing(key: string, artifacts: readonly string[]): Promise<string[]> {
    const missing: string[] = [];
    for (const path of artifacts) if (!(await this.#isWhole(key, path))) missing.push(path);
    return missing;
  }

  async #isWhole(key: string, path: string): Promise<boolean> {
    const file = this.#file(key, path);
    try {
      return (
        (await lstat(file)).isFile() &&
        digestOf(await readFile(file)) === (await readFile(this.#digest(key, path), 'utf8'))
      );
    } catch {
      return false;
    }
  }
}

/** Gives a digest of the names and contents. */
async function fetchAll(wanted: WantedArtifacts, paths: readonly string[], folder: string): Promise<string> {
  const places = new FairQueue({ limit: limits.atOnce });
  let total = 0;
  const digests = await Promise.all(
    paths.map((path) =>
      places
        .run('', async () => {
          const bytes = await wanted.read(path);
          total += bytes.length;
          if (total > limits.totalBytes)
            throw activationFailed(`The artifacts are larger than ${megabytes(limits.totalBytes)}`);
          const file = join(folder, path);
          await mkdir(dirname(file), { recursive: true });
          await writeFile(file, bytes, { flush: true });
          return digestOf(path, bytes);
        })
        .catch((error: unknown) => {
          throw failure(path, error);
        }),
    ),
  );
  return digestOf(...digests);
}

function failure(path: string, error: unknown): Error {
  const reason =
    error instanceof ActivationFailure ? error.message : `it could not be stored (${codeOf(error) ?? 'unknown error'})`;
  return activationFailed(`The artifact ${path} could not be fetched: ${reason}`);
}
