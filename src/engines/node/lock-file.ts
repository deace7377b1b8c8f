/** The lock file that npm gets: what the author's says of versions and contents. Where packages are fetched is for npm to know. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { posix, dirname, join } from 'node:path';
import { readRegular } from '../../shelf/package/package-content.ts';
import { activationFailed } from '../supervisor/packages/errors.ts';
import { MOST_SHARED_BYTES, type Fetched } from '../supervisor/packages/shared-fetches.ts';
import { isPackageName, type DependencySpecs, type SpecPlace } from './dependency-specs.ts';
import { dependenciesForNpm, isRecord, parseObject, record, type Fields } from './manifest.ts';

/** @param manifest of the package that is installed, as npm gets it. @throws ActivationFailure. */
export function lockForNpm(text: string, manifest: Fields, specs: DependencySpecs, place: SpecPlace): Fields {
  const lock = parseObject(text, place.file);
  const reader = new LockReader(specs, place);
  // The second version has both, and npm reads `packages`.
  if (isRecord(lock['packages'])) {
    const packages = { ...reader.packages(lock['packages']), '': manifest };
    return { name: manifest['name'] ?? 'ko', lockfileVersion: 3, requires: true, packages };
  }
  if (!isRecord(lock['dependencies'])) throw activationFailed(`${place.file} is no lock file of npm 5 or newer`);
  const dependencies = reader.dependencies(lock['dependencies'], 0);
  return { name: manifest['name'] ?? 'ko', lockfileVersion: 1, requires: true, dependencies };
}

const FLAGS = ['link', 'optional', 'devOptional', 'peer', 'inBundle', 'bundled', 'hasInstallScript', 'hasShrinkwrap'];
const LISTS = ['os', 'cpu', 'libc', 'bundleDependencies'];
const MOST_NESTED = 100;

class LockReader {
  readonly #specs: DependencySpecs;
  readonly #place: SpecPlace;

  constructor(specs: DependencySpecs, place: SpecPlace) {
    this.#specs = specs;
    this.#place = place;
  }

  packages(packages: Fields): Fields {
    const read: Fields = {};
    for (const [path, entry] of Object.entries(packages)) {
      if (path === '' || !isRecord(entry) || entry['dev'] === true) continue;
      if (posix.isAbsolute(path) || /[\\\p{Cc}]/u.test(path) || !path.split('/').every(isStep))
        throw activationFailed(
          `${this.#place.file} has a package outside of the knowledge object: ${path.slice(0, 100)}`,
        );
      const name = path.split('node_modules/').at(-1) ?? '';
      const what = `The package ${name.slice(0, 100)} of ${this.#place.file}`;
      const version = typeof entry['version'] === 'string' ? entry['version'] : undefined;
      read[path] = {
        ...this.#common(entry),
        ...(version !== undefined && { version }),
        ...dependenciesForNpm(entry, this.#specs, this.#place),
        ...this.#resolved(entry, name, what),
      };
    }
    return read;
  }

  /** Reads dependencies of the first version of lock files, in which the version says where a package comes from. */
  dependencies(dependencies: Fields, depth: number): Fields {
    if (depth > MOST_NESTED) throw activationFailed(`${this.#place.file} is nested too deeply`);
    const read: Fields = {};
    for (const [name, entry] of Object.entries(dependencies)) {
      if (!isRecord(entry) || entry['dev'] === true) continue;
      const requires = Object.entries(record(entry['requires'])).map(([each, spec]) => [
        each,
        this.#specs.add(each, spec, this.#place),
      ]);
      read[name] = {
        ...this.#common(entry),
        version: this.#specs.add(name, entry['version'], this.#place),
        ...(requires.length > 0 && { requires: Object.fromEntries(requires) as Fields }),
        ...(isRecord(entry['dependencies']) && { dependencies: this.dependencies(entry['dependencies'], depth + 1) }),
      };
    }
    return read;
  }

  #common(entry: Fields): Fields {
    const { name, integrity, bin } = entry;
    const bins = Object.entries(record(bin)).filter(
      ([command, file]) => isPackageName(command) && typeof file === 'string' && file.split('/').every(isStep),
    );
    return {
      ...(typeof name === 'string' && isPackageName(name) && { name }),
      ...(typeof integrity === 'string' && { integrity }),
      ...Object.fromEntries(FLAGS.filter((flag) => entry[flag] === true).map((flag) => [flag, true])),
      ...Object.fromEntries(LISTS.filter((list) => isTexts(entry[list])).map((list) => [list, entry[list]])),
      ...(bins.length > 0 && { bin: Object.fromEntries(bins) }),
    };
  }

  /** A package of a registry is asked for by its name: the address in a lock file is that of the registry of its author. */
  #resolved({ resolved, link }: Fields, name: string, what: string): Fields {
    if (typeof resolved !== 'string') return {};
    if (link === true) return { resolved: this.#specs.addPath(resolved, what, this.#place) };
    const url = /^https?:/i.test(resolved) ? URL.parse(resolved) : null;
    if (url !== null) return this.#specs.remotes.has(url.href) ? { resolved: url.href } : {};
    return { resolved: this.#specs.add(isPackageName(name) ? name : 'package', resolved, this.#place) };
  }
}

const isStep = (step: string): boolean => step !== '' && step !== '.' && step !== '..';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === 'string');

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
