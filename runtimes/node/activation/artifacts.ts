/** Brings the artifacts of an endpoint into the cache folder, from the activator where they are not there yet. */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ActivatorClient } from '../activator/client.ts';
import { activationFailed, codeOf, megabytes, RuntimeError } from '../lib/errors.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { digestOf, type Cache } from './cache.ts';
import type { Descriptor } from './descriptor.ts';

const limits = { fileBytes: 100_000_000, totalBytes: 300_000_000, fileMs: 60_000, atOnce: 4 } as const;

export class Artifacts {
  readonly #cache: Cache;
  readonly #activator: ActivatorClient;
  readonly #loadFromCache: boolean;

  /** @param loadFromCache use what an endpoint had last, whatever its checksum is now. */
  constructor(cache: Cache, activator: ActivatorClient, loadFromCache: boolean) {
    this.#cache = cache;
    this.#activator = activator;
    this.#loadFromCache = loadFromCache;
  }

  /** @returns the key of the object that holds them. @throws RuntimeError where one cannot be had. */
  async provide(descriptor: Descriptor): Promise<string> {
    const { ko, checksum, artifacts, packageJson = '' } = descriptor;
    const last = this.#loadFromCache ? await this.#cache.remembered(descriptor.uri) : undefined;
    if (last) await this.#cache.use(this.#cache.object(last));
    if (last && (await this.#missing(last, artifacts)).length === 0) return last;

    const known = checksum === undefined ? undefined : digestOf(ko, checksum, packageJson);
    if (known) await this.#cache.use(this.#cache.object(known));
    const missing = known ? await this.#missing(known, artifacts) : artifacts;
    if (known && missing.length === 0) return known;
    return this.#cache.stage(async (folder) => {
      const digest = await this.#fetch(descriptor.baseUrl, missing, folder);
      const key = known ?? digestOf(ko, digest, packageJson);
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

  /** @returns a digest of the names and contents. */
  async #fetch(baseUrl: URL, paths: readonly string[], folder: string): Promise<string> {
    const places = new Semaphore(limits.atOnce);
    let total = 0;
    const digests = await Promise.all(
      paths.map((path) =>
        places
          .run(async () => {
            const bytes = await this.#fetchOne(baseUrl, path);
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

  async #fetchOne(baseUrl: URL, path: string): Promise<Buffer> {
    const url = new URL(path.split('/').map(encodeURIComponent).join('/'), baseUrl);
    const { status, body } = await this.#activator.exchange(url.href, {
      method: 'GET',
      timeoutMs: limits.fileMs,
      maxBytes: limits.fileBytes,
    });
    if (status !== 200) throw activationFailed(`The activator answered ${status} for it`);
    return body;
  }
}

function failure(path: string, error: unknown): RuntimeError {
  const reason =
    error instanceof RuntimeError ? error.message : `it could not be stored (${codeOf(error) ?? 'unknown error'})`;
  return activationFailed(`The artifact ${path} could not be fetched: ${reason}`);
}
