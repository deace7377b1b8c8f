/** What is installed for a knowledge object: read from its files, and written for npm from what was read. */
import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join, posix, relative } from 'node:path';
import { activationFailed } from '../supervisor/packages/errors.ts';
import { DependencySpecs } from './dependency-specs.ts';
import { lockForNpm } from './lock-file.ts';
import { manifestForNpm, needsInstall, otherManifestForNpm, parseObject } from './manifest.ts';

const MANIFEST = 'package.json';
const LOCK = 'package-lock.json';
const LOCKS = ['npm-shrinkwrap.json', LOCK];
/** Settings of npm, and what else decides over what it does. */
const NOT_FOR_NPM = ['.npmrc', ...LOCKS];

export interface InstallPlan {
  readonly specs: DependencySpecs;
  readonly hasLock: boolean;
  /** Tells it from others, but for files of the knowledge object. */
  readonly identity: string;
  /** Writes what npm starts from. */
  readonly prepare: (folder: string) => Promise<void>;
}

/**
 * @param folder that of the `package.json`, in which nothing but the service writes.
 * @param path the `package.json`, as people know it.
 * @returns undefined where nothing is to be installed. @throws ActivationFailure.
 */
export async function planOf(folder: string, path: string): Promise<InstallPlan | undefined> {
  const manifest = parseObject(await readFile(join(folder, MANIFEST), 'utf8'), path);
  if (!needsInstall(manifest)) return undefined;
  const specs = new DependencySpecs();
  const written = manifestForNpm(manifest, specs, { file: path, folder: '' });
  const lock = await readLock(folder);
  const file = posix.join(posix.dirname(path), lock?.name ?? '');
  const locked = lock && JSON.stringify(lockForNpm(lock.text, written, specs, { file, folder: '' }));
  const texts = new Map([[MANIFEST, JSON.stringify(written)]]);
  if (locked !== undefined) texts.set(LOCK, locked);
  if (specs.usesOwnFiles) {
    for (const other of await otherManifests(folder)) {
      const place = { file: posix.join(posix.dirname(path), other), folder: posix.dirname(other) };
      const read = parseObject(await readFile(join(folder, other), 'utf8'), place.file);
      texts.set(other, JSON.stringify(otherManifestForNpm(read, specs, place)));
    }
  }
  return {
    specs,
    hasLock: locked !== undefined,
    identity: JSON.stringify([...texts]),
    async prepare(fetched) {
      if (specs.usesOwnFiles)
        await cp(folder, fetched, { recursive: true, filter: (each) => !NOT_FOR_NPM.includes(basename(each)) });
      for (const [name, text] of texts) await writeFile(join(fetched, name), text);
    },
  };
}

/** Gives the plan for packages that are fetched ahead. @throws ActivationFailure. */
export function planToFetch(dependencies: Readonly<Record<string, string>>): InstallPlan {
  const specs = new DependencySpecs();
  const text = JSON.stringify(manifestForNpm({ dependencies }, specs, { file: 'dependencies', folder: '' }));
  if (specs.usesOwnFiles || specs.hosts.size > 0)
    throw activationFailed('Only packages of the registry can be fetched ahead');
  return {
    specs,
    hasLock: false,
    identity: text,
    prepare: (folder) => writeFile(join(folder, MANIFEST), text),
  };
}

async function otherManifests(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name === MANIFEST && entry.parentPath !== folder)
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

async function readLock(folder: string): Promise<{ name: string; text: string } | undefined> {
  for (const name of LOCKS) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => undefined);
    if (text !== undefined) return { name, text };
  }
  return undefined;
}
